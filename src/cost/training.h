// Seconds of training and of scoring (one forward pass) under a layout.
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
};

/// What every pipeline of a training task does for each micro-batch of each mini-batch, all alike.
struct TrainingPasses {
  int micro_batches = 0;            ///< of each data-parallel rank and mini-batch
  llm::Tokens micro_batch;          ///< the average one
  std::vector<ChunkPasses> chunks;  ///< in forward order: chunk v of stage s is number v * pipeline + s
  double hop = 0;                   ///< seconds of a message from a chunk to the next
};

/// A part of a micro-batch is one. Where the layout has virtual stages their number is rounded up to a multiple of the stages, as
/// interleaved 1F1B needs it (Megatron-LM refuses others, verl rounds up as well), and each is that much smaller. Under ZeRO-3 weights are
/// gathered for each pass, and what of that is longer than the computation is exposed. REQUIRES: the layout has no fault.
TrainingPasses training_passes(const ModelFacts& facts, const llm::Layout& layout, const Batch& batch, const Stepping& stepping,
                               const Machine& machine, const Efficiency& efficiency);

/// Where the seconds of a training task go; `sum` is the iteration's.
struct TrainingSeconds {
  PipelineSeconds pipeline;  ///< of all mini-batches
  double gradients = 0;      ///< collectives of gradients and weights that nothing hides
  double optimizer = 0;
  double micro_batches = 0;  ///< of each data-parallel rank and mini-batch

  double sum() const { return pipeline.seconds + gradients + optimizer; }
};

/// Training on `batch`. Each data-parallel rank has an equal share of the tokens. Gradients are reduced and weights gathered over the
/// data-parallel group once a step, partly behind the backward (Efficiency::exposed_gradients), by all stages together, as the norm of the
/// gradients is of all. The optimizer reads and writes 30 bytes a parameter of its own share: gradient, two moments and master weight in
/// fp32, and the 16-bit weight. REQUIRES: the layout has no fault.
TrainingSeconds training_seconds(const ModelFacts& facts, const llm::Layout& layout, const Batch& batch, const Stepping& stepping,
                                 const Machine& machine, const Efficiency& efficiency);

/// A forward pass over `batch`: log-probabilities, values or rewards.
PipelineSeconds scoring_seconds(const ModelFacts& facts, const llm::Layout& layout, const Batch& batch, const MicroBatching& micro_batching,
                                const Machine& machine, const Efficiency& efficiency);

}  // namespace dovetail::cost
