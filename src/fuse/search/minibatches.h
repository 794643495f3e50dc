// Problems of several mini-batches by their mini-batches: each alone, and all one behind the other.
#pragma once

#include <cstdint>
#include <vector>

#include "fuse/solution/solution.h"
#include "pipeline/problem/problem.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::fuse {

/// How many mini-batches the model with the most has.
int count_minibatches(const pipeline::Problem& problem);

/// The models that have a mini-batch `index`, with this one alone. REQUIRES: 0 <= index < count_minibatches(problem).
pipeline::Problem only_minibatch(const pipeline::Problem& problem, int index);

/// One behind the other: parts[i] is a schedule of only_minibatch(problem, i). In the graph of `lowering`, the
/// problem's split form, as search_order gives it.
pipeline::Order join_minibatches(const pipeline::Problem& problem, const pipeline::Lowering& lowering,
                                 const std::vector<Solution>& parts);

}  // namespace dovetail::fuse
