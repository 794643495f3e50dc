// "auto": constructions, pattern, exact and other search, as the problem allows.
#pragma once

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// Runs every construction and the pattern; then, while the bounds are not met, the exact search where there are few
/// ops, and the search (docs/solver.md). Answers with the best by is_better of those that schedule the problem as it
/// is; where options.robustness_percent weighs steadiness, with what the search found best by that.
Answer solve_auto(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
