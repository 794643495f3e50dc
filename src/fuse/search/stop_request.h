// A request to stop on which the processes that share a search out agree.
#pragma once

#include <chrono>
#include <optional>

#include "base/result.h"
#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// Ctrl-C comes to each process at a time of its own, and sometimes to one alone. What all of them go on from must not
/// depend on that: they ask each other, at the same places.
class StopRequest {
 public:
  /// `options` must outlive this.
  explicit StopRequest(const SolveOptions& options) : options_(options) {}

  /// Whether several processes share the search out.
  bool is_shared() const { return options_.exchange && options_.exchange->ranks > 1; }

  /// Whether to stop: some process was asked to, or one is lost. All processes have to call this equally often.
  bool ask();
  /// What ask() said last.
  bool asked() const { return asked_; }

  /// Whether the time limit is over since `begin`; never so where several processes would have to agree on it.
  bool is_late(std::chrono::steady_clock::time_point begin) const;

  /// Calls `make`, which may end early where this process is asked to stop, and says whether what it made may be used:
  /// not where other processes may have got further with the same.
  template <class Make>
  bool completes(const Make& make) {
    make();
    return !is_shared() || !ask();
  }

  /// The Error of a lost process.
  const std::optional<base::Error>& lost() const { return lost_; }

 private:
  const SolveOptions& options_;
  bool asked_ = false;
  std::optional<base::Error> lost_;
};

}  // namespace dovetail::fuse
