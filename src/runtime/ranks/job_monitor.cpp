#include "runtime/ranks/job_monitor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace dovetail::runtime {
namespace {

using base::Error;
using base::Result;
using namespace std::chrono_literals;

constexpr auto poll_interval = 100ms;
/// Longer than a responsive store takes.
constexpr auto store_timeout = 2s;
constexpr const char* left_key = "left";

using transport::Clock;

Error lost(std::string message) { return {base::Failure::lost, "", 0, 0, std::move(message)}; }

}  // namespace

/// State that the thread shares with the rank. It may outlive the JobMonitor.
struct JobMonitor::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void(JobStore&)>> requests;
  bool ends = false;     ///< set when the rank needs no more answers
  bool ended = false;    ///< set when the thread has ended
  bool leaving = false;  ///< set when this rank may lose the store without an error
  RankNote note;
  bool is_noted = false;  ///< the store has the note
  std::optional<Error> error;

  std::mutex report_mutex;  ///< held while an error is reported
  std::optional<RankError> reported;
  std::mutex handler_mutex;  ///< held while the error handler runs
  std::function<void(const Error&)> handler;

  void take(const Error& first) {
    const std::lock_guard handles(handler_mutex);
    {
      const std::lock_guard lock(mutex);
      if (error) return;
      error = first;
    }
    if (handler) std::exchange(handler, nullptr)(first);
  }

  /// Has the thread run `run_query(store)` and returns the result. Returns nullopt if the store is gone or does not
  /// respond.
  template <class Query>
  auto answer_of(Query run_query) -> std::optional<decltype(run_query(std::declval<JobStore&>()))> {
    using Answer = std::optional<decltype(run_query(std::declval<JobStore&>()))>;
    const auto answer = std::make_shared<Answer>();
    std::unique_lock lock(mutex);
    requests.push_back([this, answer, run_query](JobStore& store) {
      Answer given = run_query(store);
      const std::lock_guard answers(mutex);
      *answer = std::move(given);
      changed.notify_all();
    });
    changed.notify_all();
    changed.wait_for(lock, store_timeout, [&] { return answer->has_value() || ended; });
    return *answer;
  }

  /// Runs one round of the thread. Returns whether to continue.
  bool work(JobStore& store, int rank) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, poll_interval, [this] { return ends || !is_noted || !requests.empty(); });
    while (!requests.empty()) {
      const auto request = std::move(requests.front());
      requests.pop_front();
      lock.unlock();
      request(store);
      lock.lock();
    }
    const RankNote noted = note;
    const bool is_new = !std::exchange(is_noted, true);
    lock.unlock();
    if (is_new) (void)store.set(note_key(rank), note_to_bytes(noted));
    const Result<std::int64_t> alive = store.add(alive_key(rank), 1);
    const Result<std::optional<std::string>> first = store.find(first_error_key);
    lock.lock();
    const bool is_lost = (!alive.ok() || !first.ok()) && !leaving;
    const bool continues = alive.ok() && first.ok() && !ends;
    lock.unlock();
    if (is_lost)
      take(without_store(rank, noted.phase, alive.ok() ? first.error() : alive.error()));
    else if (first.ok() && *first)
      take(error_from_bytes(**first).error);
    return continues;
  }
};

JobMonitor::JobMonitor(std::unique_ptr<JobStore> store, int rank, int ranks)
    : state_(std::make_shared<State>()), rank_(rank), ranks_(ranks) {
  std::thread([state = state_, store = std::move(store), rank]() mutable {
    while (state->work(*store, rank)) {
    }
    store.reset();
    const std::lock_guard lock(state->mutex);
    state->ended = true;
    state->changed.notify_all();
  }).detach();
}

JobMonitor::~JobMonitor() {
  on_error(nullptr);
  std::unique_lock lock(state_->mutex);
  state_->ends = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, store_timeout, [this] { return state_->ended; });
}

void JobMonitor::note(const RankNote& note) {
  const std::lock_guard lock(state_->mutex);
  if (note == state_->note) return;
  state_->note = note;
  state_->is_noted = false;
  state_->changed.notify_all();
}

std::function<std::string()> JobMonitor::phase() const {
  return [state = state_] {
    const std::lock_guard lock(state->mutex);
    return state->note.phase;
  };
}

std::optional<Error> JobMonitor::first_error() const {
  const std::lock_guard lock(state_->mutex);
  return state_->error;
}

void JobMonitor::on_error(std::function<void(const Error&)> handler) {
  const std::lock_guard handles(state_->handler_mutex);
  const std::optional<Error> error = first_error();
  if (handler && error)
    handler(*error);
  else
    state_->handler = std::move(handler);
}

Error JobMonitor::placed(const Error& error) const {
  const std::lock_guard lock(state_->mutex);
  // An error from the monitor already names its phase.
  const bool is_known = state_->error && state_->error->message == error.message;
  return is_known ? error : in_phase(state_->note.phase, error);
}

RankError JobMonitor::report_error(const Error& error) {
  const std::lock_guard reports(state_->report_mutex);
  if (state_->reported) return *state_->reported;
  const RankError own{rank_, placed(error)};
  const auto first = state_->answer_of(
      [bytes = error_to_bytes(own)](JobStore& store) { return store.propose(first_error_key, bytes); });
  return state_->reported.emplace(first && first->ok() ? error_from_bytes(**first) : own);
}

std::vector<int> JobMonitor::unresponsive_ranks() {
  const auto count = [ranks = ranks_](JobStore& store) {
    std::vector<std::int64_t> signs;
    for (int rank = 0; rank < ranks; ++rank) {
      const Result<std::int64_t> sign = store.add(alive_key(rank), 0);
      signs.push_back(sign.ok() ? *sign : -1);
    }
    return signs;
  };
  const auto before = state_->answer_of(count);
  std::this_thread::sleep_for(5 * poll_interval);
  const auto after = state_->answer_of(count);
  std::vector<int> silent;
  if (!before || !after) return silent;
  for (std::size_t rank = 0; rank < before->size(); ++rank)
    if ((*before)[rank] >= 0 && (*before)[rank] == (*after)[rank]) silent.push_back(static_cast<int>(rank));
  return silent;
}

void JobMonitor::leave(std::chrono::milliseconds limit) { wait_for_all(limit, true); }
void JobMonitor::leave_despite_errors(std::chrono::milliseconds limit) { wait_for_all(limit, false); }

void JobMonitor::wait_for_all(std::chrono::milliseconds limit, bool stops_at_error) {
  std::int64_t own = 0;
  {
    const std::lock_guard lock(state_->mutex);
    own = std::exchange(state_->leaving, true) ? 0 : 1;
  }
  const auto end = std::chrono::steady_clock::now() + limit;
  do {
    const auto left =
        state_->answer_of([own = std::exchange(own, 0)](JobStore& store) { return store.add(left_key, own); });
    if (!left || !left->ok() || **left >= ranks_) return;
    std::this_thread::sleep_for(10ms);
  } while (std::chrono::steady_clock::now() < end && !(stops_at_error && first_error()));
}

std::string_view name_of(transport::Lane lane) {
  constexpr std::array<std::string_view, transport::lanes> names{"programs", "reductions", "control"};
  return names[static_cast<std::size_t>(lane)];
}

std::string text_of(const transport::Address& message) {
  return fmt::format("message {} ({}) from rank {}", message.number, name_of(message.lane), message.peer);
}

Error lost_peer_error(int peer, int rank, std::string_view action, std::string_view reason) {
  return lost(fmt::format("rank {} is lost: rank {} {}: {}", peer, rank, action, reason));
}

Error deadline_error(int rank, std::string_view action, JobMonitor* monitor) {
  std::vector<int> silent;
  if (monitor != nullptr) silent = monitor->unresponsive_ranks();
  return lost(fmt::format("rank {} {}{}", rank, action,
                          silent.empty() ? ""
                                         : fmt::format("; no heartbeat from rank{} {}", silent.size() == 1 ? "" : "s",
                                                       fmt::join(silent, ", "))));
}

std::string seconds_since(Clock::time_point begin) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(Clock::now() - begin).count());
}

base::Status fail_collective(transport::Transport& transport, const std::vector<int>& ranks, std::string_view action,
                             std::string_view reason) {
  constexpr auto for_a_reason = 500ms;
  constexpr auto pause = 50ms;
  for (const auto end = Clock::now() + for_a_reason; Clock::now() < end; std::this_thread::sleep_for(pause))
    DOVETAIL_CHECK(transport.status());
  std::vector<int> others = ranks;
  std::erase(others, transport.rank());
  const bool are_several = others.size() > 1;
  transport.fail(
      lost(fmt::format("{} {} is lost: rank {} {} {}: {}", are_several ? "one of the ranks" : "rank",
                       fmt::join(others, ", "), transport.rank(), action, are_several ? "them" : "it", reason)));
  return transport.status();
}

}  // namespace dovetail::runtime
