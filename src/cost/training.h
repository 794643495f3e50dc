// Seconds of training and of inference (one forward pass) under a layout.
#pragma once

#include "cost/batches.h"
#include "cost/efficiency.h"
#include "cost/machine.h"
#include "cost/model_facts.h"
#include "cost/passes.h"
#include "llm/layout.h"

namespace dovetail::cost {

/// Optimizer steps on a batch: their number, the micro-batches of each, and the optimizer's work.
struct Stepping {
  int mini_batches = 1;  ///< number of optimizer steps
  MicroBatching micro_batching;
  double host_share = 0;          ///< fraction of the optimizer in host memory, updated there (plan::Offload)
  bool gradients_follow = false;  ///< gradients move to the host during the backward (Conventions::gradients_follow)
  double reduced_bytes = 4;       ///< bytes of a gradient that ranks reduce (Conventions::reduced_bytes)
  double step_bytes = bytes_an_optimizer_step;  ///< bytes moved per parameter (Conventions::step_bytes)
};

/// Passes of a training task's pipelines. All pipelines, mini-batches and micro-batches are assumed to be equal.
struct TrainingPasses {
  int micro_batches = 0;            ///< of the slowest data-parallel rank, in each mini-batch
  llm::Tokens micro_batch;          ///< the average one
  std::vector<ChunkPasses> chunks;  ///< in forward order: chunk v of stage s is number v * pipeline + s
  double hop = 0;                   ///< seconds of a message from a chunk to the next
};

/// Returns the passes of the rank with the most tokens (slowest_share), for which the others wait in each mini-batch.
/// The number of micro-batches is an integer (count_whole_micro_batches). Under ZeRO 3, each pass gathers weights, and
/// the backward scatters gradients. Only the time by which this exceeds the computation counts. REQUIRES:
/// llm::find_fault finds no fault in model and layout.
TrainingPasses training_passes(const ModelFacts& facts, const llm::Layout& layout, const Batch& batch,
                               const Stepping& stepping, const Machine& machine, const Efficiency& efficiency);
/// Returns the passes of `micro_batches` micro-batches that all equal `micro_batch`.
TrainingPasses training_passes(const ModelFacts& facts, const llm::Layout& layout, int micro_batches,
                               const llm::Tokens& micro_batch, const Machine& machine, const Efficiency& efficiency);

/// Breakdown of a training task's seconds in an iteration.
struct TrainingSeconds {
  PipelineSeconds pipeline;  ///< of all mini-batches
  double gradients = 0;      ///< exposed collectives of gradients and weights
  double optimizer = 0;
  double micro_batches = 0;  ///< of the slowest data-parallel rank, in each mini-batch

  double sum() const { return pipeline.seconds + gradients + optimizer; }
};

/// Returns the seconds of training on `batch`, at the pace of the data-parallel rank with the most tokens.
///
/// Once per step, gradients are reduced and weights gathered over the data-parallel group. The backward hides part of
/// this (Efficiency::exposed_gradients). All stages wait for the slowest one, because the gradient norm covers all of
/// them.
///
/// The optimizer reads and writes Stepping::step_bytes per parameter of its shard: by default 30, for gradient, two
/// moments and master weight in fp32, and the 16-bit weight.
///
/// The part of the optimizer on the host (ZeRO-Offload, arXiv 2101.06840) is updated there, and the ranks of a node
/// share the host's memory bandwidth. This bandwidth is assumed, not measured: 120 GB/s, about half of the published
/// figure for two processors with six channels of DDR4-2666. The 16-bit weights then return to the device. Before the
/// step, the gradients move to the host in 16 bits. This time counts unless they move during the backward
/// (Stepping::gradients_follow). The device does not update its own part at the same time, so the times of host and
/// device add up.
///
/// REQUIRES: llm::find_fault finds no fault in model and layout.
TrainingSeconds training_seconds(const ModelFacts& facts, const llm::Layout& layout, const Batch& batch,
                                 const Stepping& stepping, const Machine& machine, const Efficiency& efficiency);

/// Passes of one pipeline for a micro-batch of inference.
struct InferencePasses {
  std::vector<PassSeconds> stages;
  double hop = 0;  ///< seconds of a message from a stage to the next
};

/// Returns a forward pass over `micro_batch`. Under ZeRO 3, weights are gathered for it, as in training_passes.
/// REQUIRES: llm::find_fault finds no fault in model and layout.
InferencePasses inference_passes(const ModelFacts& facts, const llm::Layout& layout, const llm::Tokens& micro_batch,
                                 const Machine& machine, const Efficiency& efficiency);

/// Inference micro-batches of the slowest data-parallel rank (slowest_share).
struct InferenceBatches {
  double count = 1;
  llm::Tokens micro_batch;  ///< the average one
};
InferenceBatches inference_batches(const llm::Layout& layout, const Batch& batch, const MicroBatching& micro_batching);

/// Returns the seconds of a forward pass over `batch` on the slowest rank (inference_batches), for log-probabilities,
/// values or rewards.
PipelineSeconds inference_seconds(const ModelFacts& facts, const llm::Layout& layout, const Batch& batch,
                                  const MicroBatching& micro_batching, const Machine& machine,
                                  const Efficiency& efficiency);

}  // namespace dovetail::cost
