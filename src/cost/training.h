// Seconds of training and of inference (one forward pass) under a layout.
#pragma once

#include "cost/batches.h"
#include "cost/efficiency.h"
#include "cost/machine.h"
#include "cost/model_facts.h"
#include "cost/passes.h"
#include "cost/training_pipeline.h"
#include "llm/layout.h"

namespace dovetail::cost {

/// How a batch is worked off: in so many optimizer steps, each cut into micro-batches.
struct Stepping {
  int mini_batches = 1;
  MicroBatching micro_batching;
  double host_share = 0;          ///< of the optimizer: kept in host memory and stepped there (plan::Offload)
  bool gradients_follow = false;  ///< its gradients go there behind the backward (Conventions::gradients_follow)
  double reduced_bytes = 4;       ///< of a gradient that ranks reduce (Conventions::reduced_bytes)
  double step_bytes = bytes_an_optimizer_step;  ///< a parameter (Conventions::step_bytes)
};

/// What every pipeline of a training task does for each micro-batch of each mini-batch, all alike.
struct TrainingPasses {
  int micro_batches = 0;            ///< of the slowest data-parallel rank, in each mini-batch
  llm::Tokens micro_batch;          ///< the average one
  std::vector<ChunkPasses> chunks;  ///< in forward order: chunk v of stage s is number v * pipeline + s
  double hop = 0;                   ///< seconds of a message from a chunk to the next
};

/// Those of the rank with the most tokens (shares.h), for which the others wait in each mini-batch. A part of a
/// micro-batch is one (whole_micro_batches). Under ZeRO-3 weights are gathered for each pass, and what of that is
/// longer than the computation is exposed. REQUIRES: the layout has no fault.
TrainingPasses training_passes(const ModelFacts& facts, const llm::Layout& layout, const Batch& batch,
                               const Stepping& stepping, const Machine& machine, const Efficiency& efficiency);
/// Those of so many micro-batches like this one.
TrainingPasses training_passes(const ModelFacts& facts, const llm::Layout& layout, int micro_batches,
                               const llm::Tokens& micro_batch, const Machine& machine, const Efficiency& efficiency);

/// Where the seconds of a training task go; `sum` is the iteration's.
struct TrainingSeconds {
  PipelineSeconds pipeline;  ///< of all mini-batches
  double gradients = 0;      ///< collectives of gradients and weights that nothing hides
  double optimizer = 0;
  double micro_batches = 0;  ///< of the slowest data-parallel rank, in each mini-batch

  double sum() const { return pipeline.seconds + gradients + optimizer; }
};

/// Training on `batch`, at the pace of the data-parallel rank that has the most tokens (shares.h). Gradients are
/// reduced and weights gathered over the data-parallel group once a step, partly behind the backward
/// (Efficiency::exposed_gradients), by all stages together, as the norm of the gradients is of all. The optimizer reads
/// and writes Stepping::step_bytes a parameter of its own share: by default 30, gradient, two moments and master weight
/// in fp32, and the 16-bit weight. On the host (ZeRO-Offload, arXiv 2101.06840) the ranks of a node share its memory's
/// bandwidth for their share of these, of which 120 GB/s are assumed: about half of what two processors with six
/// channels of DDR4-2666 publish, measured by nobody here. Then its 16-bit weights come back; its gradients go there in
/// 16 bits before, which counts unless they follow the backward. The device steps its share before. REQUIRES: the
/// layout has no fault.
TrainingSeconds training_seconds(const ModelFacts& facts, const llm::Layout& layout, const Batch& batch,
                                 const Stepping& stepping, const Machine& machine, const Efficiency& efficiency);

/// What one pipeline does for a micro-batch that is scored.
struct InferencePasses {
  std::vector<PassSeconds> stages;
  double hop = 0;  ///< seconds of a message from a stage to the next
};

/// A forward pass over `micro_batch`. Under ZeRO-3 weights are gathered for it, as in training_passes. REQUIRES: the
/// layout has no fault.
InferencePasses inference_passes(const ModelFacts& facts, const llm::Layout& layout, const llm::Tokens& micro_batch,
                                 const Machine& machine, const Efficiency& efficiency);

/// The micro-batches of a batch that is scored: how many the slowest data-parallel rank has (shares.h), and its average
/// one.
struct InferenceBatches {
  double count = 1;
  llm::Tokens micro_batch;
};
InferenceBatches inference_batches(const llm::Layout& layout, const Batch& batch, const MicroBatching& micro_batching);

/// A forward pass over `batch`: log-probabilities, values or rewards; the slowest rank's (inference_batches).
PipelineSeconds inference_seconds(const ModelFacts& facts, const llm::Layout& layout, const Batch& batch,
                                  const MicroBatching& micro_batching, const Machine& machine,
                                  const Efficiency& efficiency);

}  // namespace dovetail::cost
