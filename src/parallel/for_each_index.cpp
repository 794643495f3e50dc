#include "parallel/for_each_index.h"

#ifdef __linux__
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace dovetail::parallel {
namespace {

/// Distributes indices to threads and keeps the first exception.
class IndexQueue {
 public:
  IndexQueue(int count, const std::function<void(int)>& work) : count_(count), work_(work) {}

  /// Works until no index is left. Several threads may call this concurrently.
  void drain() noexcept {
    for (int index = next_.fetch_add(1); index < count_; index = next_.fetch_add(1)) {
      try {
        work_(index);
      } catch (...) {
        const std::scoped_lock lock(mutex_);
        if (!exception_) exception_ = std::current_exception();
      }
    }
  }

  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  const int count_;
  const std::function<void(int)>& work_;
  std::atomic<int> next_{0};
  std::mutex mutex_;
  std::exception_ptr exception_;
};

}  // namespace

void for_each_index(int count, int threads, const std::function<void(int)>& work) {
  IndexQueue queue(count, work);
  {
    std::vector<std::jthread> helpers;
    try {
      for (int helper = 1; helper < std::min(threads, count); ++helper)
        helpers.emplace_back([&queue] { queue.drain(); });
    } catch (const std::system_error&) {
      // The system cannot create more threads. The existing ones do the work.
    }
    queue.drain();
  }
  queue.rethrow();
}

int default_thread_count() {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace dovetail::parallel
