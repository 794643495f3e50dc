#include "support/thread_exchange.h"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace dovetail::test {
namespace {

using Messages = std::vector<std::string>;

/// Meeting point of the threads of a group.
class Meeting {
 public:
  Meeting(int ranks, double timeout_seconds)
      : ranks_(ranks), timeout_(timeout_seconds), coming_(static_cast<std::size_t>(ranks)) {}

  base::Result<Messages> gather(int rank, std::string_view message) {
    std::unique_lock lock(mutex_);
    if (broken_) return lost();
    coming_[static_cast<std::size_t>(rank)] = message;
    const int round = round_;
    if (++come_ == ranks_) {
      gathered_ = std::exchange(coming_, Messages(static_cast<std::size_t>(ranks_)));
      come_ = 0;
      ++round_;
      changed_.notify_all();
    }
    const bool all_came = changed_.wait_for(lock, timeout_, [&] { return round_ != round || broken_; });
    if (round_ != round) return gathered_;
    broken_ = true;
    if (!all_came) changed_.notify_all();
    return lost();
  }

 private:
  static base::Error lost() { return {base::Failure::io, {}, 0, 0, "a thread of the group does not answer"}; }

  const int ranks_;
  const std::chrono::duration<double> timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Messages coming_;
  Messages gathered_;  // of the last round; the next one cannot end before all have taken it
  int come_ = 0;
  int round_ = 0;
  bool broken_ = false;
};

}  // namespace

std::vector<parallel::Exchange> connect_threads(int ranks, double timeout_seconds) {
  const auto meeting = std::make_shared<Meeting>(ranks, timeout_seconds);
  std::vector<parallel::Exchange> group;
  for (int rank = 0; rank < ranks; ++rank)
    group.push_back(
        {rank, ranks, [meeting, rank](std::string_view message) { return meeting->gather(rank, message); }});
  return group;
}

void run_on_ranks(int ranks, const std::function<void(const parallel::Exchange&)>& work) {
  std::vector<std::thread> threads;
  for (const parallel::Exchange& exchange : connect_threads(ranks))
    threads.emplace_back([&work, exchange] { work(exchange); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace dovetail::test
