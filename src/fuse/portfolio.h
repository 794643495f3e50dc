// Solver "auto": constructions, the pattern, the exact search and the local search, depending on the problem's size.
// Also splits problems of several mini-batches into single mini-batches.
#pragma once

#include <cstdint>
#include <vector>

#include "fuse/solution/solution.h"
#include "pipeline/problem/problem.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::fuse {

/// Returns the largest number of mini-batches of any model.
int count_minibatches(const pipeline::Problem& problem);

/// Returns `problem` with only mini-batch `index` of each model, without models that have at most `index`
/// mini-batches. REQUIRES: 0 <= index < count_minibatches(problem).
pipeline::Problem only_minibatch(const pipeline::Problem& problem, int index);

/// Concatenates schedules: parts[i] is a schedule of only_minibatch(problem, i). Returns an order of the graph of
/// `lowering`, the form of `problem` with BackwardForm::split (see search_order).
pipeline::Order join_minibatches(const pipeline::Problem& problem, const pipeline::Lowering& lowering,
                                 const std::vector<Solution>& parts);

/// Runs the constructions and the pattern (on a large problem, only until the time limit). Until a schedule meets the
/// bounds, it continues with the exact search (if there are few ops) and the local search (docs/search.md). Returns the
/// best by is_better among the schedules that keep the problem's layout. If options.robustness_percent is above 0 and
/// the local search ran, it returns the schedule that the search ranks best by that weight.
Answer solve_auto(const pipeline::Problem& problem, const SolveOptions& options);

}  // namespace dovetail::fuse
