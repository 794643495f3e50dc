// Requests to stop, visible to every thread.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace dovetail::parallel {

/// Reason why work ends before it is complete: a time limit expired, or it was interrupted by a caller, by Ctrl-C or by
/// the loss of another process.
enum class EndedBy { time, interrupt };

/// A stop request from Ctrl-C, from a caller or from a time limit. Long work checks it at least every 50 ms and stops
/// with the best result so far. All members are thread-safe, and `request` may be called from a signal handler.
class Cancellation {
 public:
  Cancellation() = default;
  /// Creates a cancellation that is also requested when `outer` is requested, and after `seconds` if given. `outer` may
  /// be null; otherwise it must outlive this object.
  explicit Cancellation(const Cancellation* outer, std::optional<double> seconds = std::nullopt);
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  void request() { requested_.store(true, std::memory_order_relaxed); }
  bool requested() const { return ended_by().has_value(); }
  /// Returns why a stop was requested; nullopt if it was not. An interrupt takes precedence over an expired time limit.
  std::optional<EndedBy> ended_by() const;
  /// Returns the seconds until the time limit; nullopt without a limit.
  std::optional<double> seconds_left() const;

 private:
  std::atomic<bool> requested_{false};
  const Cancellation* outer_ = nullptr;
  // Earliest time limit of this object and the outer ones
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  static_assert(std::atomic<bool>::is_always_lock_free);
};

/// Whether `cancellation` is not null and was requested.
inline bool is_requested(const Cancellation* cancellation) {
  return cancellation != nullptr && cancellation->requested();
}

/// Returns why a stop was requested; nullopt if it was not, or if `cancellation` is null.
inline std::optional<EndedBy> ended_by(const Cancellation* cancellation) {
  return cancellation != nullptr ? cancellation->ended_by() : std::nullopt;
}

/// Returns the Error for work that was stopped too early. `what` completes the message "interrupted before ...", for
/// example with "a plan was found". The failure is Failure::interrupted, or Failure::infeasible if the time limit
/// expired.
base::Error stopped_before(std::string_view what, EndedBy ended_by);

}  // namespace dovetail::parallel
