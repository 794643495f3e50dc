// Peak memory of training a model under a layout, stage by stage, in parts that add up.
//
// A stage always stores weights, optimizer state and the activations of its micro-batches in flight. It also stores
// gradients, except in a step with one micro-batch if each step allocates them (Conventions::transient_gradients). The
// peak adds the memory of one of two moments, whichever needs more: the loss of a micro-batch on the last stage, when
// its logits exist, or the backward of a layer, when gradients of activations and recomputed activations exist.
// Framework properties are in conventions.h, comparisons with measured runs in docs/accuracy.md. Memory outside the
// framework's allocator, such as the CUDA context and NCCL, is not included.
//
// A layer stores the inputs of its operators. Let h be the hidden size, q and kv the sizes of all query and key-value
// heads, and f the width of the feed-forward network. The inputs are, in bf16 elements per token:
//
//   h      input of the first normalization
//   h      input of the projections
//   q      rotated queries
//   2 kv   keys and values
//   q      output of attention
//   h      input of the second normalization
//   h      input of the network
//   f, 2f  outputs of its first projections: f, or 2f if it is gated
//   f      input of its last projection
//
// That is 12h + 4 kv + 6f bytes with gating and q = h. arXiv 2205.05198 derives the same for GPT. Tensor parallelism
// splits all inputs except the four of size h, and sequence parallelism splits these, too. Flash attention stores no
// scores, only the logarithm of the sum of their exponentials for each head, in fp32.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/conventions.h"
#include "llm/layout.h"
#include "llm/transformer.h"

namespace dovetail::cost {

/// Micro-batches of a training step, and their order.
struct TrainingShape {
  std::int64_t sequence_length = 0;  ///< tokens of a sequence
  std::int64_t sequences = 1;        ///< number of sequences in a micro-batch
  std::int64_t micro_batches = 1;    ///< micro-batches of a data-parallel rank in a step
  std::int64_t packed_tokens = 0;    ///< tokens in a micro-batch of packed sequences; 0: sequence_length x sequences
  /// If not 0, each expert processes this multiple of its even share of tokens, with padding. 0: it processes the
  /// tokens routed to it, which are assumed to be spread evenly over the experts.
  double expert_capacity = 0;
  bool all_forwards_first = false;  ///< true: GPipe; false: 1F1B, interleaved if the layout has virtual stages
  std::vector<double> in_flight;    ///< [stage] maximum micro-batches in flight; empty: the rule of 1F1B or GPipe
};

/// Returns the tokens of a micro-batch on one context-parallel rank.
std::int64_t tokens_of_rank(const llm::Layout& layout, const TrainingShape& shape);

/// Returns the tokens of a micro-batch that the experts of a rank process. A token counts once per expert it is routed
/// to.
std::int64_t routed_tokens(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape);

/// Bytes of one micro-batch in one layer on one rank.
struct LayerMemory {
  std::int64_t kept = 0;  ///< stored from forward to backward, under the layout's recomputation
  /// In addition during its backward: gradients of activations, and recomputed activations.
  std::int64_t workspace = 0;
};
LayerMemory layer_memory(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape,
                         const Conventions& conventions, bool with_experts);

/// Returns the bytes of one micro-batch on the last stage at the peak of the loss: logits, and the inputs of the last
/// normalization and the head. Includes the gradient of the head if full logits never exist (Conventions::logit_tokens,
/// logit_entries).
std::int64_t loss_bytes(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape,
                        const Conventions& conventions);

/// Returns the vocabulary size as padded by the framework.
std::int64_t padded_vocabulary(const llm::Transformer& model, const llm::Layout& layout,
                               const Conventions& conventions);

/// Bytes at one moment on one device, by purpose.
struct MemoryParts {
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;    ///< moments and master weights
  std::int64_t activations = 0;  ///< of micro-batches in flight
  /// At the loss: logits and the inputs of the head. With Conventions::keeps_last_outputs: also the step's stored
  /// logits.
  std::int64_t logits = 0;
  std::int64_t gathered = 0;   ///< weights gathered by ZeRO 3, and their gradients before scattering
  std::int64_t workspace = 0;  ///< backward and recomputation of a layer, dummy gradients, the bucket, overhead

  std::int64_t total() const { return weights + gradients + optimizer + activations + logits + gathered + workspace; }
};

/// Returns the memory of the largest rank of stage `stage` between steps: weights, optimizer and permanent gradients.
/// Without sharding, each of these is its bytes per parameter times the number of parameters that have it
/// (llm::tensors_of_rank of the padded model). `workspace` includes dummy gradients, the bucket of ZeRO and overhead.
MemoryParts static_memory(const llm::Transformer& model, const llm::Layout& layout, const Conventions& conventions,
                          int stage);

/// Returns static_memory of the stage with the largest total.
MemoryParts max_static_memory(const llm::Transformer& model, const llm::Layout& layout, const Conventions& conventions);

/// Returns the peak bytes that ZeRO 3 has gathered on any stage in a forward pass without a backward; 0 without ZeRO 3.
std::int64_t gathered_in_forward(const llm::Transformer& model, const llm::Layout& layout,
                                 const Conventions& conventions);

/// Returns the number of micro-batches whose activations stage `stage` stores at its peak. TrainingShape::in_flight
/// overrides the rules:
///
/// - 1F1B: min(stages - stage, micro-batches).
/// - Interleaved: 2 (stages - stage - 1) + (chunks - 1) stages + 1 passes through the stage's chunks, but at most all
///   (Megatron-LM, arXiv 2104.04473). Each pass counts as a fraction of a micro-batch: the chunk's share of the stage's
///   layers.
/// - GPipe: all.
double micro_batches_in_flight(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape,
                               int stage);

/// Peak memory of one stage.
struct StageMemory {
  MemoryParts parts;
  /// Bytes that the allocator reserves at that peak; 0 if the framework's factor is unknown.
  std::int64_t reserved = 0;

  std::int64_t allocated() const { return parts.total(); }
};

/// Peak memory of all stages.
struct TrainingMemory {
  std::vector<StageMemory> stages;
  int worst = 0;  ///< the first stage with the highest peak

  const StageMemory& peak() const { return stages[static_cast<std::size_t>(worst)]; }
};

/// Returns the peak memory of each stage. REQUIRES: llm::find_fault finds no fault in model and layout; sequence length
/// (or packed tokens), sequences and micro-batches are at least 1; in_flight is empty or has a value per stage.
TrainingMemory training_memory(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape,
                               const Conventions& conventions);

}  // namespace dovetail::cost
