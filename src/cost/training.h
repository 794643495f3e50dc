// Seconds of training and of scoring (one forward pass) under a layout.
#pragma once

#include "cost/batches.h"
#include "cost/efficiency.h"
#include "cost/machine.h"
#include "cost/model_facts.h"
#include "cost/passes.h"
#include "llm/layout.h"

namespace dovetail::cost {

/// How a batch is worked off: in so many optimizer steps, each cut into micro-batches.
struct Stepping {
  int mini_batches = 1;
  MicroBatching micro_batching;
};

/// Where the seconds of a training task go; `sum` is the iteration's.
struct TrainingSeconds {
  PipelineSeconds pipeline;  ///< of all mini-batches
  double gradients = 0;      ///< collectives of gradients and weights that nothing hides
  double optimizer = 0;
  double micro_batches = 0;  ///< of each data-parallel rank and mini-batch

  double sum() const { return pipeline.seconds + gradients + optimizer; }
};

/// Training on `batch`. Each data-parallel rank has an equal share of the tokens. Gradients are reduced and weights gathered over the
/// data-parallel group once a step, partly behind the backward (Efficiency::exposed_gradients); under ZeRO-3 weights are also gathered for
/// each pass of each micro-batch, and what of that is longer than the computation is exposed. The optimizer reads and writes 30 bytes a
/// parameter of its own share: gradient, two moments and master weight in fp32, and the 16-bit weight. REQUIRES: the layout has no fault.
TrainingSeconds training_seconds(const ModelFacts& facts, const llm::Layout& layout, const Batch& batch, const Stepping& stepping,
                                 const Machine& machine, const Efficiency& efficiency);

/// A forward pass over `batch`: log-probabilities, values or rewards.
PipelineSeconds scoring_seconds(const ModelFacts& facts, const llm::Layout& layout, const Batch& batch, const MicroBatching& micro_batching,
                                const Machine& machine, const Efficiency& efficiency);

}  // namespace dovetail::cost
