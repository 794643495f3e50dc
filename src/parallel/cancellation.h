// A request to stop, seen by every thread.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace dovetail::parallel {

/// Why work ends before it is done.
enum class EndedBy { time, interrupt };

/// Requested once, by Ctrl-C, by a caller, or when its time is over; long work looks at it at least every 50 ms and
/// stops with the best so far. Thread-safe, and safe to request from a signal handler.
class Cancellation {
 public:
  Cancellation() = default;
  /// Requested with `outer` (null: nobody), too, which must outlive this, and `seconds` from now on, where they are
  /// given.
  explicit Cancellation(const Cancellation* outer, std::optional<double> seconds = std::nullopt);
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  void request() { requested_.store(true, std::memory_order_relaxed); }
  bool requested() const { return ended_by().has_value(); }
  /// Nothing while it is not requested. An interrupt goes before a time that is over.
  std::optional<EndedBy> ended_by() const;
  /// Until it is requested by time; nothing where it never is.
  std::optional<double> seconds_left() const;

 private:
  std::atomic<bool> requested_{false};
  const Cancellation* outer_ = nullptr;
  std::optional<std::chrono::steady_clock::time_point>
      deadline_;  // of this one or of an outer one, whatever comes first
  static_assert(std::atomic<bool>::is_always_lock_free);
};

/// Whether there is a cancellation, and it was requested.
inline bool is_requested(const Cancellation* cancellation) {
  return cancellation != nullptr && cancellation->requested();
}

/// The same of why.
inline std::optional<EndedBy> ended_by(const Cancellation* cancellation) {
  return cancellation != nullptr ? cancellation->ended_by() : std::nullopt;
}

/// That work was stopped before it came to `what` ("a plan was found"). Failure::interrupted, or infeasible where time
/// was over.
base::Error stopped_before(std::string_view what, EndedBy ended_by);

}  // namespace dovetail::parallel
