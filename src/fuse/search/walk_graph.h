// The precedences of a problem as a walk among its schedules needs them: few, and at most two on each side of an op.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/schedule/op_graph.h"

namespace dovetail::fuse {

/// `before` ends, and `lag` ticks later `after` may start.
struct WalkEdge {
  std::int32_t before;
  std::int32_t after;
  std::int64_t lag;
};

/// Nodes are ops, by their OpIds' numbers, then joints: what has more than two predecessors or successors has some by
/// way of joints, which last no time, on no device.
struct WalkGraph {
  std::int32_t nodes = 0;
  /// At most one of a node's predecessors has a lag, and at most one of its successors; it comes first.
  std::vector<WalkEdge> edges;
};

/// Whether two ops are of one (pipeline, stage, kind). Micro-batches are alike, so that like ops need never change
/// places.
bool are_alike(const pipeline::OpLabel& a, const pipeline::OpLabel& b);

/// The edges of `graph` without most of those that others imply where like ops keep their order on their device, and
/// with joints. Each edge that is left out has a path of others that lasts as long.
WalkGraph walk_graph(const pipeline::OpGraph& graph);

}  // namespace dovetail::fuse
