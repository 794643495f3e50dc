// Solver "exact": provably optimal schedules for small problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// Limits of the exact search: work and memory, not time, so the result does not depend on the speed of the machine.
struct ExactLimits {
  std::int64_t nodes = 20'000'000;  ///< total nodes of the search tree

  /// Memory for states known to fail. With less memory, the search visits more nodes.
  std::size_t memory_bytes = std::size_t{1} << 30;
};

/// Returns limits with at most `nodes` nodes. A short options.time_limit_seconds reduces the number. The time is
/// converted to nodes at a constant speed, without reading a clock.
ExactLimits limits_for(const SolveOptions& options, std::int64_t nodes);

/// Result of an exact search. Below, a schedule "fits" if each device stays within the problem's capacity and
/// options.memory_cap, apart from an excess that every schedule has there.
struct ExactResult {
  /// Best schedule found; absent only if the search is not applicable to the problem.
  std::optional<Solution> solution;

  /// Whether it is proven that no schedule covered by `makespan_bound` has a better makespan than the solution.
  bool makespan_proven = false;
  /// Whether it is proven that no schedule covered by `peak_bound` has a lower peak activation than the solution.
  bool peak_proven = false;

  /// Lower bound on the makespan of all schedules that fit. With Objective::memory and no deadline, or with a
  /// deadline that the solution meets, it covers only schedules whose peak is at most the solution's.
  base::Ticks makespan_bound;
  /// Lower bound on the peak activation of the schedules that fit and end by the solution's makespan, or by the
  /// deadline if that is later. With Objective::memory and no deadline, it covers all schedules that fit.
  base::Memory peak_bound;
  std::int64_t nodes = 0;    ///< number of nodes searched
  bool interrupted = false;  ///< whether options.cancellation stopped the search
};

/// Searches for the best schedule by is_better (ignoring options.robustness_percent) until it is proven optimal or the
/// limits are reached. Starts from the best of options.start and a few constructions.
///
/// With Objective::memory and no deadline, it minimizes the makespan of the schedules with the minimum peak. Otherwise
/// it first minimizes the makespan of schedules that fit, or finds one that meets options.deadline. Then it minimizes
/// the peak at that makespan or deadline. With a deadline that is met, it finally minimizes the makespan at that peak.
///
/// The schedule runs I and W separately if the problem splits backwards. This excludes no schedule, because B equals I
/// directly followed by W. Method and proof are in docs/search.md. REQUIRES: find_fault(problem) finds nothing.
ExactResult solve_exactly(const pipeline::Problem& problem, const SolveOptions& options,
                          const ExactLimits& limits = {});

/// Solver "exact": returns the proven optimum. NotApplicable if the problem is too large to try, or if no optimum is
/// proven within options.iterations nodes (default: ExactLimits, fewer for a short time limit). If interrupted, returns
/// the best schedule so far.
Answer solve_exact(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
