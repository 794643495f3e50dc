// Schedules of many micro-batches: a warm-up, a pattern that repeats, a drain.
#pragma once

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// Searches a pattern (pattern_search.h), writes it out for all micro-batches and evaluates it. Uses memory_cap, objective, deadline,
/// threads and cancellation of the options, and draws nothing; only a short time limit changes the answer as well. Not
/// applicable where there are too few micro-batches, or models differ in their numbers of mini-batches.
Answer solve_pattern(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
