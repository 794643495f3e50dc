// The search by swaps: least makespan, then least peak at it, by chains that walk among schedules.
#pragma once

#include <vector>

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// Chains start from the `starts`, the best of them first, and anneal the makespan until one meets its bound or the
/// deadline; then lower the peak at that makespan until it meets its bound; then, among schedules as good as the best,
/// look for the one that loses least when durations vary. docs/solver.md tells how. `starts` are schedules of
/// `problem`; a start that the objective or the capacity rules out is left aside. REQUIRES: there is one; where one
/// fits the capacity at all, one does.
Solution search_from(const pipeline::Problem& problem, std::vector<Solution> starts, const SolveOptions& options);

/// The same from options.start and a few constructions. Applies to every problem.
Answer solve_search(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
