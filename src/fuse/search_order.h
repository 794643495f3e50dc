// Any schedule as a start of a search: in the graph that the searches use, micro-batches in order.
#pragma once

#include "fuse/solver.h"
#include "pipeline/op_graph.h"

namespace dovetail::fuse {

/// The order of `solution`, a schedule of the problem that `lowering` splits (BackwardForm::split): each whole backward of a split
/// model becomes I, then W, directly behind each other; and like ops take the micro-batches in order. Neither makespan nor peak grows:
/// I gives its output and memory back earlier than B, and micro-batches are alike. Barriers are dropped.
pipeline::Order search_order(const pipeline::Lowering& lowering, const Solution& solution);

}  // namespace dovetail::fuse
