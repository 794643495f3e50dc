// Seconds of a micro-batch's passes through pipeline stages, and of whole pipelines.
#pragma once

#include <vector>

#include "cost/efficiency.h"
#include "cost/machine.h"
#include "cost/model_facts.h"
#include "llm/counts.h"
#include "llm/layout.h"

namespace dovetail::cost {

/// Seconds of a pass by part. The parts add up to the total, so they exclude hidden time.
struct PassSeconds {
  double compute = 0;
  double communication = 0;
  double launch = 0;  ///< kernel launches that compute and communication do not hide, and overhead of the pass

  double sum() const { return compute + communication + launch; }
  PassSeconds& operator+=(const PassSeconds& other);
  friend PassSeconds operator*(double factor, PassSeconds seconds);
};

/// Returns the seconds of one forward pass of a micro-batch through a stage, on one of its ranks.
///
/// - Compute: 2 FLOPs per multiplication and token plus causal attention, both split over tensor x context ranks.
///   Routed experts reach the fraction Efficiency::expert_products of peak FLOP/s, everything else matrix_products.
/// - Tensor parallelism: two all-reduces of the hidden states per layer. With sequence parallelism, all-gathers and
///   reduce-scatters of the same volume.
/// - Context parallelism: an all-gather of keys and values.
/// - Expert parallelism: a dispatch and a combine (docs/facts.md#communication).
/// - Launch: the launch time that compute and communication do not hide, and the overhead of the pass
///   (Efficiency::slot). A layer with experts adds Efficiency::expert_launch, because the host waits for the counts of
///   routed tokens before it launches the products of the experts.
///
/// Measured layers (ModelFacts::profiles) replace compute and launch, except Efficiency::slot. They are looked up at
/// the micro-batch's number of tokens and token-weighted mean length (squares / count).
PassSeconds forward_pass(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage,
                         const llm::Tokens& micro_batch, const Machine& machine, const Efficiency& efficiency);

/// Returns the seconds of the backward pass. Compared with the forward pass, it takes:
///
/// - Twice the products. With adapters, only once, because frozen weights have no gradients.
/// - 2.5 times the attention: flash attention recomputes one of its five products (arXiv 2205.14135).
/// - The same collectives. With sequence parallelism, each all-gather is repeated (arXiv 2205.05198, section 4.2.2).
/// - With full recomputation, another forward. With recomputation of experts, another forward of their networks.
/// - If the loss stored no logits (ModelFacts::head_again) and recomputation is not full, another forward of the head.
///
/// Measured layers replace compute and launch, as in the forward. With full recomputation, this requires measurements
/// of both passes.
PassSeconds backward_pass(const ModelFacts& facts, const llm::Layout& layout, const StageLayers& stage,
                          const llm::Tokens& micro_batch, const Machine& machine, const Efficiency& efficiency);

/// Seconds of one pipeline for its micro-batches, all of which are equal.
struct PipelineSeconds {
  double seconds = 0;    ///< total
  double bubbles = 0;    ///< time in which the slowest stage is idle because of other stages' passes
  double transfers = 0;  ///< time of messages between stages on the critical path
  PassSeconds slowest;   ///< time of all passes of the slowest stage
};

/// Returns the seconds of `micro_batches` micro-batches in a pipeline. Stage s takes t_s = `stages[s]` for one
/// micro-batch (forward, or forward and backward). The slowest stage works all the time except while the pipeline fills
/// and drains. For m micro-batches, the total is m max_s t_s + (sum_s t_s - max_s t_s) / virtual stages (1F1B and its
/// interleaved form, arXiv 2104.04473), plus `hops` messages of `hop_seconds` each.
PipelineSeconds pipeline_seconds(const std::vector<PassSeconds>& stages, double micro_batches, int virtual_stages,
                                 double hop_seconds, int hops);

/// Both passes of a micro-batch through one chunk of layers.
struct ChunkPasses {
  PassSeconds forward;
  PassSeconds backward;
};

/// training_pipeline_seconds simulates at least simulated_per_stage micro-batches per stage and min_simulated in total,
/// unless the mini-batch has fewer.
inline constexpr int simulated_per_stage = 3;
inline constexpr int min_simulated = 32;

/// Returns the seconds of one mini-batch under 1F1B, or interleaved 1F1B if there are more chunks than stages: chunk k
/// is on stage k % stages. Stages may differ and messages take time. `hop_seconds` is the time of a message from a
/// chunk to the next, forward or backward. In the result, bubbles are at most the time of the other stages' passes of
/// one micro-batch, divided by the number of chunks per stage. All other waiting of the slowest stage counts as
/// transfers.
///
/// Equal stages that take t = f + b, without messages, need (m + (p - 1) / v) t for m micro-batches, p stages and v
/// chunks per stage (arXiv 2104.04473, section 2.2). That formula misses two effects:
///
/// - A slow stage before the last one partly hides the time that the formula adds for the other stages.
/// - A message of c seconds delays 1F1B in every micro-batch, not once. Stage k can start micro-batch i + n only after
///   micro-batch i has passed through the n stages from k to e and back. In the long run, a micro-batch takes, with v =
///   1,
///
///     max over runs of adjacent stages k ... e, n = e - k + 1, of (sum_{k..e} t_s + 2 (n - 1) c) / n
///
///   which is t + 2 c (p - 1) / p if all stages are equal. Interleaved 1F1B allows 2 n - 1 passes in that time instead
///   of n. That hides messages of up to half of a chunk's pass. But if chunks differ, the stages wait for each other.
///
/// Therefore the first micro-batches are simulated. A pass starts when its stage has finished the passes that 1F1B
/// orders before it and its input has arrived. Passes are numbered so that each depends only on passes with lower
/// numbers, or on earlier ones with the same number. On stage s, F_i has number i + s. B_j has number j + p - 1 if
/// v = 1, and the last stage comes first. If v > 1, B_j has number j + (v + 1) p - 2 - s, and i and j count a stage's
/// passes through all its chunks, in order. For each number, one loop over the stages simulates the forwards and
/// another the backwards. Later micro-batches follow at the pace of the formula above (v = 1). If v > 1, they follow at
/// the pace of the last p simulated ones, or of the slowest stage if that is slower.
///
/// REQUIRES: stages and micro_batches >= 1. The number of chunks is a multiple of `stages`. With several chunks per
/// stage, `micro_batches` is a multiple of `stages`, too.
PipelineSeconds training_pipeline_seconds(const std::vector<ChunkPasses>& chunks, int stages, int micro_batches,
                                          double hop_seconds);

}  // namespace dovetail::cost
