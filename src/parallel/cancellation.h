// A request to stop, seen by every thread.
#pragma once

#include <atomic>

namespace dovetail::parallel {

/// Set once, by Ctrl-C or a caller; long work looks at it at each of its rounds and stops with the best so far. Thread-safe, and safe
/// to set from a signal handler.
class Cancellation {
 public:
  void request() { requested_.store(true, std::memory_order_relaxed); }
  bool requested() const { return requested_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> requested_{false};
  static_assert(std::atomic<bool>::is_always_lock_free);
};

}  // namespace dovetail::parallel
