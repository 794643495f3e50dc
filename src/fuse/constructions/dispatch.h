// Event-driven list scheduling: whenever a device is free, it starts the ready op that the rules put first.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "pipeline/schedule/op_graph.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// What decides which ready op a free device starts. A gate limits how many of the ops that take it may be under way:
/// one is taken when an op starts, and given back when an op ends.
struct DispatchRules {
  std::vector<std::int64_t> priority;  ///< [op] the smallest goes first; equal ones by OpId
  std::vector<std::int32_t> takes;     ///< [op] the gate that it takes at its start, or -1
  std::vector<std::int32_t> returns;   ///< [op] the gate that it gives back at its end, or -1
  std::vector<std::int32_t> limit;     ///< [gate]
};

/// Plays `graph` (only the ops of `model`, where given) with no device idle while an op that may start is ready. The
/// order in which each device ran its ops; nothing where the gates let no op start any more. Source: non-delay
/// dispatching, as in any text on scheduling (e.g. Pinedo, Scheduling, chapter 5).
std::optional<std::vector<std::vector<pipeline::OpId>>> dispatch(const pipeline::OpGraph& graph,
                                                                 const DispatchRules& rules,
                                                                 std::optional<pipeline::ModelId> model = std::nullopt);

/// Rules without gates that prefer S, then I and B, then F, then W; then the pipeline first in the file; then the
/// micro-batch. Makes all ops that share (kind class, pipeline) first come, first served.
DispatchRules backward_first_rules(const pipeline::Lowering& lowering);

/// Adds one gate for each pipeline stage: a forward takes it, and what `returned_by_weight_gradient` chooses (W, or I
/// and B) gives it back. `limit` is indexed as Lowering::microbatch_begin. REQUIRES: `rules` has no gates on these ops
/// yet.
void add_in_flight_gates(DispatchRules& rules, const pipeline::Lowering& lowering,
                         const std::vector<std::int32_t>& limit, bool returned_by_weight_gradient);

}  // namespace dovetail::fuse
