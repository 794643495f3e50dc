// Building blocks of constructions: event-driven list scheduling, and chains of ops that are merged on their devices
// model by model.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "fuse/solution/solution.h"
#include "pipeline/schedule/op_graph.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::fuse {

/// Rules that decide which ready op a free device starts. A gate has a number of slots. An op that takes a slot at its
/// start must wait until one is free. A later op, such as the backward of the same micro-batch, returns the slot at its
/// end.
struct DispatchRules {
  std::vector<std::int64_t> priority;  ///< [op] priority; the lowest runs first, ties by OpId
  std::vector<std::int32_t> takes;     ///< [op] gate of which it takes a slot at its start, or -1
  std::vector<std::int32_t> returns;   ///< [op] gate to which it returns a slot at its end, or -1
  std::vector<std::int32_t> limit;     ///< [gate] number of slots
};

/// Schedules `graph`, or only the ops of `model` if given, so that no device is idle while an op may start. Returns the
/// order of ops on each device, or nullopt if the remaining ops can never start. Source: non-delay dispatching (for
/// example Pinedo, Scheduling, chapter 5).
std::optional<std::vector<std::vector<pipeline::OpId>>> dispatch(const pipeline::OpGraph& graph,
                                                                 const DispatchRules& rules,
                                                                 std::optional<pipeline::ModelId> model = std::nullopt);

/// Returns rules that have no gates and prefer S, then I and B, then F, then W. Ties go to the pipeline that is first
/// in the file, then to the lower micro-batch.
DispatchRules backward_first_rules(const pipeline::Lowering& lowering);

/// Adds one gate for each pipeline stage. A forward takes a slot. The slot is returned by the W of the micro-batch if
/// `returned_by_weight_gradient` and the model splits its backward, otherwise by its I or B. limit[i] is the number of
/// slots of pipeline stage i, in the order of Lowering::microbatch_begin. REQUIRES: none of these ops has a gate in
/// `rules` yet.
void add_in_flight_gates(DispatchRules& rules, const pipeline::Lowering& lowering,
                         const std::vector<std::int32_t>& limit, bool returned_by_weight_gradient);

/// Ops in the order in which they run.
using OpChain = std::vector<pipeline::OpId>;

/// Function that returns the chains of one pipeline.
using ChainsOf = std::function<std::vector<OpChain>(const pipeline::Lowering&, pipeline::PipelineId)>;

/// Runs the models one after another, with a barrier between them: each op without a predecessor waits for all ops of
/// the previous model that have no successor. Replicas of one model run together. Within a model, each chain keeps its
/// order, and chains that share a device are merged by dispatch with backward_first_rules. Returns nullopt if the
/// chains deadlock, or if a barrier would join more than about 16 million pairs of ops.
std::optional<pipeline::Order> run_models_in_turn(const pipeline::Problem& problem, const pipeline::Lowering& lowering,
                                                  const ChainsOf& chains_of);

/// Function that appends the ops of one mini-batch of a stage to `chain`.
using AppendMinibatch =
    std::function<void(OpChain& chain, const pipeline::Lowering& lowering, pipeline::PipelineId pipeline,
                       pipeline::StageId stage, int first_microbatch, int microbatches)>;
/// Returns one chain per stage. Each mini-batch contributes the order that `append_minibatch` produces, then its
/// optimizer step.
std::vector<OpChain> chains_by_stage(const pipeline::Problem& problem, const pipeline::Lowering& lowering,
                                     pipeline::PipelineId pipeline, const AppendMinibatch& append_minibatch);

/// Appends the optimizer step of `minibatch` on a stage, if the model has steps.
void append_step(OpChain& chain, const pipeline::Lowering& lowering, pipeline::PipelineId pipeline,
                 pipeline::StageId stage, int minibatch);

/// Returns the answer of the construction `name`: the solution of `order`, or NotApplicable if `order` is nullopt or
/// deadlocks.
Answer construction_answer(std::string_view name, const pipeline::Problem& problem, pipeline::Lowering lowering,
                           std::optional<pipeline::Order> order);

}  // namespace dovetail::fuse
