#include "cost/training.h"

#include <algorithm>
#include <cmath>

#include "cost/batches.h"
#include "llm/layout.h"

namespace dovetail::cost {
namespace {

constexpr double host_memory_bandwidth = 120e9;  // bytes/s of a node that Adam reaches

/// Returns one of `parts` equal parts.
llm::Tokens part_of(const llm::Tokens& tokens, double parts) { return {tokens.count / parts, tokens.squares / parts}; }

/// Returns the seconds of a message with hidden states to the next stage. Sequence parallelism splits it over
/// tensor-parallel ranks.
double hop_seconds(const ModelFacts& facts, const llm::Layout& layout, double tokens, const Machine& machine) {
  const double cut = static_cast<double>(layout.context) * (layout.sequence_parallel ? layout.tensor : 1);
  return next_stage_seconds(layout, machine,
                            static_cast<double>(facts.model.hidden) * tokens * facts.element_bytes / cut);
}

/// Returns the ranks that ZeRO shards weights over.
cluster::RankGroup shard_group(const ModelFacts& facts, const llm::Layout& layout, const Machine& machine) {
  return group_of(llm::shard_ranks(layout, facts.shard_group), layout.tensor, machine.devices_per_node);
}

/// Returns the seconds to gather a stage's weights, or scatter as many gradients, over the ranks that ZeRO 3 shards
/// them over.
double gather_seconds(const ModelFacts& facts, const RankParameters& parameters, const llm::Layout& layout,
                      const Machine& machine) {
  return cluster::all_gather_seconds(machine.links, shard_group(facts, layout, machine),
                                     (parameters.shared + parameters.routed) * facts.element_bytes);
}

/// Returns the seconds of a step's exposed collectives.
double gradient_seconds(const ModelFacts& facts, const RankParameters& parameters, const llm::Layout& layout,
                        const Stepping& stepping, const Machine& machine, const Efficiency& efficiency) {
  const double trained = static_cast<double>(facts.parameters.trained) / static_cast<double>(facts.parameters.all);
  const double shared = parameters.shared * std::min(1.0, trained);
  const int ranks = layout.data * layout.context;
  const int shards = layout.zero > 0 ? llm::shard_ranks(layout, facts.shard_group) : ranks;
  const cluster::RankGroup group = group_of(shards, layout.tensor, machine.devices_per_node);
  double seconds = cluster::reduce_scatter_seconds(machine.links, group, shared * stepping.reduced_bytes) +
                   cluster::all_gather_seconds(machine.links, group, shared * facts.element_bytes);
  // Shard groups then sum their scattered gradients.
  if (shards < ranks)
    seconds += cluster::all_reduce_seconds(machine.links,
                                           group_of(ranks / shards, layout.tensor * shards, machine.devices_per_node),
                                           shared / shards * stepping.reduced_bytes);
  const int copies = layout.data * layout.context * layout.tensor / (layout.expert * layout.expert_tensor);
  const cluster::RankGroup of_experts =
      group_of(copies, layout.expert * layout.expert_tensor, machine.devices_per_node);
  seconds += cluster::all_reduce_seconds(machine.links, of_experts,
                                         parameters.routed * std::min(1.0, trained) * stepping.reduced_bytes);
  return efficiency.exposed_gradients * seconds;
}

/// Returns the number of parameters that a rank updates.
double own_parameters(const ModelFacts& facts, const RankParameters& parameters, const llm::Layout& layout) {
  const double trained = static_cast<double>(facts.parameters.trained) / static_cast<double>(facts.parameters.all);
  if (layout.zero == 0) return std::min(1.0, trained) * (parameters.shared + parameters.routed);
  const std::int64_t copies =
      std::int64_t{layout.data} * layout.context * layout.tensor / (std::int64_t{layout.expert} * layout.expert_tensor);
  const auto of_experts = static_cast<double>(std::max<std::int64_t>(1, llm::shard_ranks(copies, facts.shard_group)));
  return std::min(1.0, trained) *
         (parameters.shared / llm::shard_ranks(layout, facts.shard_group) + parameters.routed / of_experts);
}

/// Returns the bytes/s of an optimizer step on a device: measured, or the published bandwidth times its efficiency.
double step_bandwidth(const ModelFacts& facts, const Machine& machine, const Efficiency& efficiency) {
  for (const LayerProfile& profile : facts.profiles)
    if (profile.gpu == machine.gpu.name && profile.optimizer_bandwidth) return *profile.optimizer_bandwidth;
  return efficiency.memory_bandwidth * machine.gpu.memory_bandwidth;
}

double optimizer_seconds(const ModelFacts& facts, double own, const llm::Layout& layout, const Stepping& stepping,
                         const Machine& machine, const Efficiency& efficiency) {
  const double on_host = stepping.host_share * own;
  const double of_device = (own - on_host) * stepping.step_bytes / step_bandwidth(facts, machine, efficiency);
  if (stepping.host_share == 0) return of_device;
  const double of_node = on_host * std::min(machine.devices_per_node, layout.devices());
  const double moved = on_host * (stepping.gradients_follow ? 1 : 2) * facts.element_bytes;
  return of_device + of_node * stepping.step_bytes / host_memory_bandwidth + host_seconds(machine, moved, efficiency);
}

/// Returns the seconds of gathering weights beyond the computation that hides it.
double exposed(double gathering, const PassSeconds& pass) { return std::max(0.0, gathering - pass.compute); }

/// Returns the layers of one chunk. `first` has the embedding, `last` the head.
StageLayers layers_of_chunk(const ModelFacts& facts, const llm::Chunk& chunk, bool first, bool last) {
  StageLayers layers;
  layers.first = first;
  layers.last = last;
  const std::int64_t dense = facts.model.experts ? facts.model.experts->dense_layers : facts.model.layers;
  layers.dense = static_cast<double>(std::clamp(dense, chunk.begin, chunk.end) - chunk.begin);
  layers.with_experts = static_cast<double>(chunk.end - chunk.begin) - layers.dense;
  return layers;
}

bool passes_alike(const StageLayers& a, const StageLayers& b) {
  return a.dense == b.dense && a.with_experts == b.with_experts && a.last == b.last && a.first == b.first;
}

ChunkPasses chunk_passes(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& layers,
                         const llm::Tokens& micro_batch, const Machine& machine, const Efficiency& efficiency) {
  ChunkPasses passes{forward_pass(facts, layout, layers, micro_batch, machine, efficiency),
                     backward_pass(facts, layout, layers, micro_batch, machine, efficiency)};
  if (layout.zero < 3) return passes;
  const double gathering = gather_seconds(facts, parameters_of_rank(facts, layout, layers), layout, machine);
  passes.forward.communication += exposed(gathering, passes.forward);
  passes.backward.communication += exposed(2 * gathering, passes.backward);
  return passes;
}

}  // namespace

TrainingPasses training_passes(const ModelFacts& facts, const llm::Layout& layout, const Batch& batch,
                               const Stepping& stepping, const Machine& machine, const Efficiency& efficiency) {
  const Share share = slowest_share(batch, stepping.mini_batches, layout.data);
  const int micro_batches = count_whole_micro_batches(layout, batch, share, stepping.micro_batching);
  return training_passes(facts, layout, micro_batches, part_of(share.tokens, micro_batches), machine, efficiency);
}

TrainingPasses training_passes(const ModelFacts& facts, const llm::Layout& layout, int micro_batches,
                               const llm::Tokens& micro_batch, const Machine& machine, const Efficiency& efficiency) {
  TrainingPasses training;
  training.micro_batches = micro_batches;
  training.micro_batch = micro_batch;
  training.hop = hop_seconds(facts, layout, training.micro_batch.count, machine);
  const int rounds = layout.virtual_stages;
  training.chunks.resize(static_cast<std::size_t>(layout.pipeline * rounds));
  StageLayers before;
  ChunkPasses passes;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    const std::vector<llm::Chunk> chunks = llm::chunks_of(layout, facts.model, stage);
    for (int round = 0; round < rounds; ++round) {
      const int index = round * layout.pipeline + stage;
      const StageLayers layers = layers_of_chunk(facts, chunks[static_cast<std::size_t>(round)], index == 0,
                                                 index == layout.pipeline * rounds - 1);
      // Most chunks equal the previous one.
      if (index == 0 || !passes_alike(layers, before))
        passes = chunk_passes(facts, layout, layers, training.micro_batch, machine, efficiency);
      before = layers;
      training.chunks[static_cast<std::size_t>(index)] = passes;
    }
  }
  return training;
}

TrainingSeconds training_seconds(const ModelFacts& facts, const llm::Layout& layout, const Batch& batch,
                                 const Stepping& stepping, const Machine& machine, const Efficiency& efficiency) {
  const double steps = stepping.mini_batches;
  const TrainingPasses passes = training_passes(facts, layout, batch, stepping, machine, efficiency);
  TrainingSeconds training;
  training.micro_batches = passes.micro_batches;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    const RankParameters parameters = parameters_of_rank(facts, layout, layers_of_stage(facts, layout, stage));
    const double gradients = gradient_seconds(facts, parameters, layout, stepping, machine, efficiency);
    training.gradients = std::max(training.gradients, steps * gradients);
    const double own = own_parameters(facts, parameters, layout);
    training.optimizer =
        std::max(training.optimizer, steps * optimizer_seconds(facts, own, layout, stepping, machine, efficiency));
  }
  training.pipeline = training_pipeline_seconds(passes.chunks, layout.pipeline, passes.micro_batches, passes.hop);
  training.pipeline.seconds *= steps;
  training.pipeline.bubbles *= steps;
  training.pipeline.transfers *= steps;
  training.pipeline.slowest = steps * training.pipeline.slowest;
  return training;
}

InferencePasses inference_passes(const ModelFacts& facts, const llm::Layout& layout, const llm::Tokens& micro_batch,
                                 const Machine& machine, const Efficiency& efficiency) {
  InferencePasses passes;
  for (int stage = 0; stage < layout.pipeline; ++stage) {
    const StageLayers layers = layers_of_stage(facts, layout, stage);
    PassSeconds pass = forward_pass(facts, layout, layers, micro_batch, machine, efficiency);
    if (layout.zero == 3)
      pass.communication +=
          exposed(gather_seconds(facts, parameters_of_rank(facts, layout, layers), layout, machine), pass);
    passes.stages.push_back(pass);
  }
  passes.hop = hop_seconds(facts, layout, micro_batch.count, machine);
  return passes;
}

InferenceBatches inference_batches(const llm::Layout& layout, const Batch& batch, const MicroBatching& micro_batching) {
  const Share share = slowest_share(batch, 1, layout.data);
  const double count = count_micro_batches(batch, share, micro_batching);
  return {count, part_of(share.tokens, count)};
}

PipelineSeconds inference_seconds(const ModelFacts& facts, const llm::Layout& layout, const Batch& batch,
                                  const MicroBatching& micro_batching, const Machine& machine,
                                  const Efficiency& efficiency) {
  const InferenceBatches batches = inference_batches(layout, batch, micro_batching);
  const InferencePasses passes = inference_passes(facts, layout, batches.micro_batch, machine, efficiency);
  return pipeline_seconds(passes.stages, batches.count, 1, passes.hop, layout.pipeline - 1);
}

}  // namespace dovetail::cost
