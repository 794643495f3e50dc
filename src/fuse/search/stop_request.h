// Stop requests on which all processes of a shared search agree.
#pragma once

#include <chrono>
#include <optional>

#include "base/result.h"
#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// A stop request. Ctrl-C reaches the processes at different times, and sometimes only one of them. Their next action
/// must not depend on that, so they exchange the request at the same points.
class StopRequest {
 public:
  /// `options` must outlive this object.
  explicit StopRequest(const SolveOptions& options) : options_(options) {}

  /// Returns whether to stop: some process received a request, or one is lost. All processes must call this the same
  /// number of times.
  bool poll();
  /// Result of the last poll().
  bool is_requested() const { return is_requested_; }

  /// Whether the time limit since `begin` has passed. Always false with several processes, which would have to agree on
  /// it.
  bool is_late(std::chrono::steady_clock::time_point begin) const;

  /// Calls `make`, which may end early if this process receives a stop request. Returns whether the result of `make`
  /// may be used. With several processes, it may not be used if any process was lost or received a request meanwhile,
  /// because the results of the processes may then differ.
  template <class Make>
  bool completes(const Make& make) {
    make();
    return !options_.is_shared() || !poll();
  }

  /// Returns the error of a lost process, or nullopt.
  const std::optional<base::Error>& lost() const { return lost_; }

 private:
  const SolveOptions& options_;
  bool is_requested_ = false;
  std::optional<base::Error> lost_;
};

}  // namespace dovetail::fuse
