// Seconds of generating responses: prefill, decoding with continuous batching, and the long tail.
#pragma once

#include <vector>

#include "cost/efficiency.h"
#include "cost/machine.h"
#include "cost/model_facts.h"
#include "llm/counts.h"
#include "llm/layout.h"
#include "workflow/lengths.h"

namespace dovetail::cost {

/// What is generated in an iteration.
struct GenerationWork {
  double sequences = 0;
  double samples_per_prompt = 1;  ///< that share the prefill of their prompt and its keys and values
  const workflow::LengthDistribution* prompts = {};
  const workflow::LengthDistribution* responses = {};
};

/// What the engine allows on each of its instances.
struct EngineLimits {
  double sequences = 256;         ///< decoded together (vLLM's max_num_seqs)
  double key_value_bytes = 1e18;  ///< of each device for keys and values
  double batched_tokens =
      8192;  ///< of a step: those that are decoded, and those of prompts (vLLM's max_num_batched_tokens)
  bool chunked_prefill = true;  ///< plan::Engine::chunked_prefill
};

/// A part of the tail: decoding from when nobody waits for a place any more.
struct TailSlice {
  double steps = 0;    ///< decode steps, times the chance that any sequence of any instance is still there
  double batch = 0;    ///< sequences that an instance still decodes, in the mean of all instances
  double context = 0;  ///< tokens before each, its prompt's among them
};

/// Where the seconds go, and what the batch was like.
struct GenerationSeconds {
  double prefill = 0;
  double recompute = 0;  ///< computing again what was preempted
  double full = 0;       ///< decoding while sequences wait for a place
  double tail = 0;       ///< decoding from there on to the last sequence
  double imbalance = 0;  ///< what the slowest instance takes beyond the average one, of which all else is (imbalance.h)

  double concurrency =
      0;  ///< sequences that an instance decodes together when the last that waited has a place, or all it has
  double recomputed = 0;          ///< tokens that an instance computes again
  double flat_batch = 0;          ///< sequences up to which a step takes at most a quarter longer than for one
  std::vector<TailSlice> slices;  ///< of the tail, in order

  double sum() const { return prefill + recompute + full + tail + imbalance; }
};

/// One decode step of `sequences` on an instance (data-parallel replica) with `context` tokens before each, for all
/// stages of its pipeline: each works on a part of the batch at a time. A part takes the longer of its memory traffic
/// (weights that are touched, keys and values) and its products, the all-reduces of tensor parallelism, and what the
/// engine adds (docs/facts.md#decode-step); and never less than launching its kernels takes: a layer's own, and of t
/// tensor-parallel ranks two all-reduces, each of which begins with the last rank that has launched it. Taken as
/// exponential, the slowest of t takes the harmonic number H_t = 1 + 1/2 + ... + 1/t times the mean (Renyi, On the
/// theory of order statistics, 1953).
double decode_step_seconds(const ModelFacts& facts, const llm::Layout& layout, double sequences, double context,
                           const Machine& machine, const Efficiency& efficiency);

/// Sequences up to which a decode step of an instance is flat: at most a quarter longer than that of one, all with
/// `context` tokens before them. At least 1, at most 65,536 and what the last doubling adds.
double flat_batch(const ModelFacts& facts, const llm::Layout& layout, double context, const Machine& machine,
                  const Efficiency& efficiency);

/// Generation on all instances of the layout, which have equal shares. While more sequences are left than an instance
/// decodes together, each place is refilled as soon as one ends; from then on the batch shrinks as the lengths say
/// (occupancy.h), the last steps with the chance that any sequence of any instance is still there. Where memory for
/// keys and values is what limits the batch, whoever fits enters and the youngest are preempted as the others grow
/// (cache_occupancy.h). Prompts are computed beside decoding or before it, and what was preempted again
/// (engine_prefill.h). Instances are dealt different lengths, and the slowest one decides: a sequence adds to steps
/// what it does at the mean batch and context.
GenerationSeconds generation_seconds(const ModelFacts& facts, const llm::Layout& layout, const GenerationWork& work,
                                     const EngineLimits& limits, const Machine& machine, const Efficiency& efficiency);

/// Seconds of a part of the tail where the sequences of all instances of the layout are dealt out to `instances` of
/// them.
double slice_seconds(const ModelFacts& facts, const llm::Layout& layout, const TailSlice& slice, double instances,
                     const Machine& machine, const Efficiency& efficiency);

/// One forward pass of an instance over `tokens`, in a part for each stage of its pipeline, after which their keys and
/// values are there.
double prefill_seconds(const ModelFacts& facts, const llm::Layout& layout, const llm::Tokens& tokens,
                       const Machine& machine, const Efficiency& efficiency);

/// Handing new weights to the engines of `devices` devices, tensor by tensor (of a mixture of experts that is what
/// counts), and starting the engines up again. Engines on the very devices of training: each device gathers the whole
/// model for itself, over its own link to other nodes where there are any (NeMo-RL). Engines `apart`: one broadcast to
/// all of them, in which the devices of a node share what they receive.
double weight_sync_seconds(const ModelFacts& facts, int devices, bool apart, const Machine& machine,
                           const Efficiency& efficiency);

/// Bytes that a token's keys and values take on one device.
double key_value_bytes(const ModelFacts& facts, const llm::Layout& layout);

}  // namespace dovetail::cost
