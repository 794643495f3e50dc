// Solver "exact": provably optimal schedules for small problems.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// Limits of the exact search. They count its work, so the result never depends on the machine's speed.
struct ExactLimits {
  std::int64_t nodes = 20'000'000;  ///< total nodes of the search tree
  std::size_t memory_bytes = std::size_t{1}
                             << 30;  ///< memory for states known to fail; with less memory it searches more nodes
};

/// Returns limits of at most `nodes`. A short time limit reduces them at a fixed assumed speed, without reading a
/// clock.
ExactLimits limits_for(const SolveOptions& options, std::int64_t nodes);

/// Result of an exact search. Below, a schedule "fits" if no device exceeds the problem's capacity or
/// options.memory_cap by more than every schedule must.
struct ExactResult {
  /// Best schedule found; absent only if the problem is too large to try.
  std::optional<Solution> solution;
  bool makespan_proven = false;  ///< no schedule has a better makespan, as the objective counts it (see makespan_bound)
  bool peak_proven = false;  ///< no schedule has a better peak activation, as the objective counts it (see peak_bound)
  /// No schedule that fits ends earlier. With Objective::memory, or with a deadline that the solution meets, this
  /// covers only schedules with at most the solution's peak.
  base::Ticks makespan_bound;
  /// No schedule that fits and ends by the solution's makespan, or by the deadline if that is later, has a lower peak.
  /// With Objective::memory and no deadline, this covers all schedules.
  base::Memory peak_bound;
  std::int64_t nodes = 0;    ///< number of nodes searched
  bool interrupted = false;  ///< whether options.cancellation stopped it
};

/// Searches for the best schedule by is_better (ignoring options.robustness_percent) until it is proven optimal or the
/// limits are reached. Starts from options.start or a construction.
///
/// With Objective::makespan it first minimizes the makespan of schedules that fit (or meets options.deadline), then the
/// peak at that makespan. With a deadline, it then minimizes the makespan at that peak. With Objective::memory it
/// minimizes the makespan of the schedules with the minimum peak.
///
/// The schedule runs I and W separately if the problem splits backwards. This covers everything that B could do. Method
/// and proof are in docs/search.md. REQUIRES: no find_fault(problem).
ExactResult solve_exactly(const pipeline::Problem& problem, const SolveOptions& options,
                          const ExactLimits& limits = {});

/// Solver entry: the proven optimum. NotApplicable if it is not found within options.iterations nodes (default:
/// ExactLimits, fewer for a short time limit). If interrupted, it returns the best schedule so far.
Answer solve_exact(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
