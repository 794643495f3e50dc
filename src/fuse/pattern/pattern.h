// Schedules of many micro-batches: a warm-up, a pattern that repeats, a drain.
#pragma once

#include <vector>

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// Searches a pattern (pattern_search.h), writes it out for all micro-batches and evaluates it. Uses memory_cap,
/// objective, deadline, threads and cancellation of the options, and draws nothing; only a short time limit changes the
/// answer as well. Not applicable where there are too few micro-batches, or models differ in their numbers of
/// mini-batches.
Answer solve_pattern(const pipeline::Problem& problem, const SolveOptions& options);

/// The same for a problem with a capacity, and for somewhat smaller ones: how long a pattern is hangs on the room that
/// it is made for, and not always in the direction that one expects. Starts for a search; they take several times as
/// long to find.
std::vector<Solution> solve_patterns_within(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
