// Time to generate responses, in seconds: prefill, decoding with continuous batching, and the long tail.
#pragma once

#include <vector>

#include "cost/efficiency.h"
#include "cost/machine.h"
#include "cost/model_facts.h"
#include "llm/counts.h"
#include "llm/layout.h"
#include "workflow/lengths.h"

namespace dovetail::cost {

/// The sequences generated in an iteration.
struct GenerationWork {
  double sequences = 0;
  double samples_per_prompt = 1;  ///< samples that share the prefill and KV cache of their prompt
  const workflow::LengthDistribution* prompts = {};
  const workflow::LengthDistribution* responses = {};
};

/// Limits of each instance of the engine.
struct EngineLimits {
  double sequences = 256;         ///< maximum sequences decoded together (vLLM's max_num_seqs)
  double key_value_bytes = 1e18;  ///< bytes of KV cache on each device
  double batched_tokens = 8192;   ///< maximum tokens of a step, decoded and prefilled (vLLM's max_num_batched_tokens)
  bool chunked_prefill = true;    ///< plan::Engine::chunked_prefill
};

/// A time slice of the tail. The tail begins when the last waiting sequence gets a slot.
struct TailSlice {
  double steps = 0;    ///< decode steps, multiplied by the probability that any instance still has a sequence
  double batch = 0;    ///< sequences that an instance still decodes, averaged over instances
  double context = 0;  ///< mean tokens before each sequence's next token, including its prompt
};

/// Seconds of generation by part, and statistics of its batches.
struct GenerationSeconds {
  double prefill = 0;
  double recompute = 0;  ///< recomputation of preempted sequences
  double full = 0;       ///< decoding while sequences wait for a slot
  double tail = 0;       ///< decoding after that, until the last sequence ends
  double imbalance = 0;  ///< extra time of the slowest instance; the other members describe the average one

  double concurrency = 0;         ///< sequences that an instance decodes together at the start of the tail
  double recomputed = 0;          ///< tokens that an instance recomputes
  double flat_batch = 0;          ///< result of flat_batch() at the mean context
  std::vector<TailSlice> slices;  ///< slices of the tail, in order

  double sum() const { return prefill + recompute + full + tail + imbalance; }
};

/// Returns the seconds of one decode step of `sequences` sequences on an instance (data-parallel replica), each with
/// `context` tokens before its next one, through all pipeline stages.
///
/// Each stage processes a part of the batch at a time. A part takes the longer of its memory traffic (touched weights,
/// keys and values) and its products, plus the all-reduces of tensor parallelism and the engine's overhead
/// (docs/facts.md#decode-step).
///
/// A layer takes at least the launch time of its kernels and, on t > 1 tensor-parallel ranks, of two all-reduces. An
/// all-reduce starts when the last rank has launched it. With exponential launch times, the slowest of t ranks takes
/// the harmonic number H_t = 1 + 1/2 + ... + 1/t times the mean (Renyi, On the theory of order statistics, 1953).
///
/// Measured decode steps (find_decode_profile) replace this model.
double decode_step_seconds(const ModelFacts& facts, const llm::Layout& layout, double sequences, double context,
                           const Machine& machine, const Efficiency& efficiency);

/// Returns the largest batch whose decode step takes at most 25% longer than the decode step of one sequence. Every
/// sequence has `context` tokens before its next one. The result is from 1 to 131,071.
double flat_batch(const ModelFacts& facts, const llm::Layout& layout, double context, const Machine& machine,
                  const Efficiency& efficiency);

/// Returns the seconds of generation on all instances of the layout, which get equal shares.
///
/// While more sequences remain than an instance can decode together, each slot is refilled as soon as its sequence
/// ends. After that, the batch shrinks according to the length distribution (occupancy.h). The last steps are weighted
/// by the probability that any instance still has a sequence. If the KV cache limits the batch, sequences enter as they
/// fit and the newest are preempted as the others grow. Prompts and preempted sequences are prefilled in decode steps
/// or in separate steps (engine_step.h). Response lengths differ between instances, and the slowest instance determines
/// the time (imbalance_seconds). The seconds that a sequence adds to a step are computed at the mean batch and context.
GenerationSeconds generation_seconds(const ModelFacts& facts, const llm::Layout& layout, const GenerationWork& work,
                                     const EngineLimits& limits, const Machine& machine, const Efficiency& efficiency);

/// Returns the seconds of a tail slice if the sequences of all instances are moved to `instances` of them.
double slice_seconds(const ModelFacts& facts, const llm::Layout& layout, const TailSlice& slice, double instances,
                     const Machine& machine, const Efficiency& efficiency);

/// Returns the seconds of one forward pass of an instance over `tokens`, which fills the KV cache. The tokens are split
/// into one part per pipeline stage.
double prefill_seconds(const ModelFacts& facts, const llm::Layout& layout, const llm::Tokens& tokens,
                       const Machine& machine, const Efficiency& efficiency);

/// Returns the seconds to send new weights to the engines on `devices` devices, tensor by tensor, and to restart the
/// engines. The number of tensors dominates for mixtures of experts. For engines on the training devices, each device
/// gathers the whole model itself, over its own link to other nodes if `devices` span several nodes (NeMo-RL). For
/// engines on other devices (`apart`), one broadcast reaches all of them, and the devices of a node share it.
double weight_sync_seconds(const ModelFacts& facts, int devices, bool apart, const Machine& machine,
                           const Efficiency& efficiency);

/// Returns the KV cache bytes of a token on one device.
double key_value_bytes(const ModelFacts& facts, const llm::Layout& layout);

/// Seconds that one sequence adds to the decode steps of its instance.
struct SequenceSeconds {
  double step = 0;     ///< for each of its steps
  double context = 0;  ///< for each of its steps, per token before that step
};

/// Returns the expected extra seconds of the slowest of `instances` compared with the average one. It is 0 for one
/// instance or equal lengths. Every computer gives the same result.
///
/// Each instance has `sequences` (> 0) sequences with independent lengths. A response of l tokens after a prompt of p
/// adds `step` l + `context` (p l + l^2 / 2). The seconds added by all sequences of an instance are assumed to be
/// normally distributed. Their maximum over n instances is estimated as the quantile (n - 3/8) / (n + 1/4) of this
/// distribution (Blom, Statistical Estimates and Transformed Beta-Variables, 1958). This estimate is 4% above the
/// expected maximum for two instances and within 1% from eight on. With fewer than about a hundred long-tailed lengths
/// per instance, the distribution is skewed, so the true maximum is up to 10% higher.
///
/// Excludes differences in the number of steps: generation_seconds counts steps until the last sequence of all
/// instances ends.
double imbalance_seconds(const SequenceSeconds& added, double prompt, const workflow::LengthDistribution& responses,
                         double sequences, int instances);

}  // namespace dovetail::cost
