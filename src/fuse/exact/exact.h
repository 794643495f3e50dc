// "exact": schedules that are proven to be the best, for small problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// How much the exact search may use. Both are counts of what it does, so that its answer never depends on the
/// machine's speed.
struct ExactLimits {
  std::int64_t nodes = 20'000'000;                  ///< of the search tree, in all
  std::size_t memory_bytes = std::size_t{1} << 30;  ///< for states known to fail; with less room it searches more
};

/// At most `nodes`, and fewer for a short time limit: by a fixed speed, without looking at a clock.
ExactLimits limits_for(const SolveOptions& options, std::int64_t nodes);

/// What an exact search found out. "Fits" below: no device exceeds the problem's capacity, or options.memory_cap, by
/// more than any schedule must.
struct ExactResult {
  /// The best schedule found; absent only where the problem is too large to be tried.
  std::optional<Solution> solution;
  bool makespan_proven = false;  ///< no schedule has a better makespan, as far as the objective goes by it: see below
  bool peak_proven = false;      ///< likewise the peak activation
  /// No schedule that fits ends earlier. With Objective::memory, or with a deadline that the solution keeps: none of
  /// those whose peak is at most the solution's.
  base::Ticks makespan_bound;
  /// No schedule that fits and ends by the solution's makespan, or by the deadline where that is later, has a lower
  /// peak. With Objective::memory and no deadline: no schedule at all.
  base::Memory peak_bound;
  std::int64_t nodes = 0;    ///< searched
  bool interrupted = false;  ///< by options.cancellation
};

/// Searches for the best schedule by is_better (options.robustness_percent left aside), from options.start or a
/// construction, until it is proven or the limits are reached. With Objective::makespan: first the least makespan that
/// fits (or that keeps options.deadline), then the least peak at it, then, with a deadline, the least makespan at that
/// peak. With Objective::memory: the least makespan of those with the least peak. The schedule runs I and W apart where
/// the problem splits backwards: that includes all that B could do. The method, and its proof, are in docs/solver.md.
/// REQUIRES: no find_fault(problem).
ExactResult solve_exactly(const pipeline::Problem& problem, const SolveOptions& options,
                          const ExactLimits& limits = {});

/// Solver entry: the proven optimum, or NotApplicable where it is not found within options.iterations nodes (absent:
/// those of ExactLimits, fewer for a short time limit). Interrupted, it answers with the best so far.
Answer solve_exact(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
