// Any schedule as a start of a search: in the graph that the searches use, micro-batches in order.
#pragma once

#include <cstdint>
#include <vector>

#include "fuse/solution/solution.h"
#include "pipeline/schedule/op_graph.h"

namespace dovetail::fuse {

/// The order of `solution`, a schedule of the problem that `lowering` splits (BackwardForm::split): each whole backward
/// of a split model becomes I, then W, directly behind each other; and like ops take the micro-batches in order.
/// Neither makespan nor peak grows: I gives its output and memory back earlier than B, and micro-batches are alike.
/// Barriers are dropped.
pipeline::Order search_order(const pipeline::Lowering& lowering, const Solution& solution);

/// The same of several schedules, one behind the other on each device. models[m] is the index, in the problem of
/// `lowering`, of model m of a schedule's own problem, of whole mini-batches. The micro-batches and steps of each go on
/// where those before it ended.
struct SearchOrderPart {
  const Solution* solution;
  std::vector<std::int32_t> models;
};
pipeline::Order search_order(const pipeline::Lowering& lowering, const std::vector<SearchOrderPart>& parts);

}  // namespace dovetail::fuse
