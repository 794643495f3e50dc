// "auto": all that applies, and the best of it.
#pragma once

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// Runs every construction, then, while the bounds are not met, each search that applies, and answers with the best by is_better of
/// those that schedule the problem as it is. Never worse than any of them.
Answer solve_auto(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
