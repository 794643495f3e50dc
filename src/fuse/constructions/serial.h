// Building blocks of constructions that fix the order of the ops of a stage: chains, merged on their devices model by
// model.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "fuse/solution/solution.h"

namespace dovetail::fuse {

/// Ops that run in this order.
using OpChain = std::vector<pipeline::OpId>;

/// The chains of one pipeline.
using ChainsOf = std::function<std::vector<OpChain>(const pipeline::Lowering&, pipeline::PipelineId)>;

/// Runs the models one after the other, with a barrier between them (from each op that nothing follows to each that
/// follows nothing); replicas of one model run together. Within a model each chain keeps its order, and chains that
/// share a device are merged by dispatch with backward_first_rules. Nothing where the chains wait for each other, or a
/// barrier would join more than some 16 million pairs of ops.
std::optional<pipeline::Order> run_models_in_turn(const pipeline::Problem& problem, const pipeline::Lowering& lowering,
                                                  const ChainsOf& chains_of);

/// A OpChain for each stage: for every mini-batch the order that `append_minibatch` gives, then its optimizer step.
using AppendMinibatch =
    std::function<void(OpChain& chain, const pipeline::Lowering& lowering, pipeline::PipelineId pipeline,
                       pipeline::StageId stage, int first_microbatch, int microbatches)>;
std::vector<OpChain> chains_by_stage(const pipeline::Problem& problem, const pipeline::Lowering& lowering,
                                     pipeline::PipelineId pipeline, const AppendMinibatch& append_minibatch);

/// Appends the optimizer step of `minibatch` on a stage, if the model has steps.
void append_step(OpChain& chain, const pipeline::Lowering& lowering, pipeline::PipelineId pipeline,
                 pipeline::StageId stage, int minibatch);

/// The answer of a construction: the evaluated order, or NotApplicable where there is none.
Answer construction_answer(std::string_view name, const pipeline::Problem& problem, pipeline::Lowering lowering,
                           std::optional<pipeline::Order> order);

}  // namespace dovetail::fuse
