// Seconds of passes of micro-batches through pipeline stages, and of whole pipelines of them.
#pragma once

#include <vector>

#include "cost/efficiency.h"
#include "cost/machine.h"
#include "cost/model_facts.h"
#include "llm/counts.h"
#include "llm/layout.h"

namespace dovetail::cost {

/// Where a pass's seconds go. They add up: what is hidden behind something else is in neither.
struct PassSeconds {
  double compute = 0;
  double communication = 0;
  double launch = 0;  ///< what launching kernels takes beyond compute and communication

  double sum() const { return compute + communication + launch; }
  PassSeconds& operator+=(const PassSeconds& other);
  friend PassSeconds operator*(double factor, PassSeconds seconds);
};

/// One forward pass of a micro-batch through a stage on one of its ranks. A layer takes 2 FLOPs a multiplication and
/// token and its causal scores, both over tensor x context ranks, at the part of the peak that matrix products reach;
/// tensor parallelism two all-reduces of the hidden states (or all-gathers and reduce-scatters of the same volume, with
/// sequence parallelism); context parallelism an all-gather of keys and values; expert parallelism a dispatch and a
/// combine (docs/facts.md#communication). Never less than launching takes; a layer with experts has a launch of its own
/// on top, because the host waits for the counts of routed tokens before it can launch their products. Where layers
/// were measured (ModelFacts::profiles) what was stands for their computation and launching, at the micro-batch's
/// tokens and their mean length by tokens (squares / count).
PassSeconds forward_pass(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage,
                         const llm::Tokens& micro_batch, const Machine& machine, const Efficiency& efficiency);

/// The backward: twice the products, two and a half times the scores (flash attention computes one of its five products
/// again, arXiv 2205.14135), the same collectives, with sequence parallelism each gathering once more (arXiv
/// 2205.05198, section 4.2.2); with full recomputation a forward more. Of a model with adapters the frozen weights have
/// no gradients: once the products. Measured layers as in a forward; with recomputation both passes must have been.
PassSeconds backward_pass(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage,
                          const llm::Tokens& micro_batch, const Machine& machine, const Efficiency& efficiency);

/// What one pipeline of the layout takes for its micro-batches, all alike.
struct PipelineSeconds {
  double seconds = 0;    ///< of all
  double bubbles = 0;    ///< of these: the slowest stage waiting
  double transfers = 0;  ///< of these: messages between stages on the critical path
  PassSeconds slowest;   ///< of these: all passes of the slowest stage
};

/// Micro-batches through stages that each take `stages[s]` for one (forward, or forward and backward): the slowest
/// works all the time but while the pipeline fills and drains, m max_s t_s + (sum_s t_s - max_s t_s) / virtual stages
/// (1F1B, and its interleaved form, arXiv 2104.04473), and the hops between stages.
PipelineSeconds pipeline_seconds(const std::vector<PassSeconds>& stages, double micro_batches, int virtual_stages,
                                 double hop_seconds, int hops);

}  // namespace dovetail::cost
