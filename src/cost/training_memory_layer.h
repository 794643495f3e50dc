// What one micro-batch leaves in memory between its forward and its backward, and what the backward needs besides:
// layer by layer.
//
// A layer keeps the inputs of its operators. With h hidden, q and kv the sizes of all query and key-value heads, f the
// width of the feed-forward network, in elements of bf16 a token: input of the first normalization h, of the
// projections h, rotated queries q, keys and values 2 kv, output of attention q, input of the second normalization h,
// of the network h, its projections f (2f where it is gated), their activated product f. That is 12h + 4 kv + 6f bytes
// with gating and q = h; arXiv 2205.05198 derives the like for GPT. All but the four of hidden size are cut by tensor
// parallelism; those are cut as well by sequence parallelism. Flash attention keeps no scores, but the logarithm of
// their sum for each head in fp32.
#pragma once

#include <cstdint>
#include <vector>

#include "cost/conventions.h"
#include "llm/layout.h"
#include "llm/transformer.h"

namespace dovetail::cost {

/// What a pipeline stage runs in a step.
struct TrainingShape {
  std::int64_t sequence_length = 0;  ///< tokens
  std::int64_t sequences = 1;        ///< in a micro-batch
  std::int64_t micro_batches = 1;    ///< of a data-parallel rank in a step
  std::int64_t packed_tokens = 0;    ///< of a micro-batch, where sequences are packed; 0: sequence_length x sequences
  /// Each expert takes this many times its even share of tokens, padded; 0: it takes what is routed to it, which is
  /// even here.
  double expert_capacity = 0;
  bool all_forwards_first = false;  ///< GPipe; else 1F1B, interleaved where the layout has virtual stages
  /// [stage] micro-batches held at the peak, from a schedule; empty: by the rule of 1F1B or GPipe
  std::vector<double> in_flight;
};

/// Tokens of a micro-batch on one context-parallel rank.
std::int64_t tokens_of_rank(const llm::Layout& layout, const TrainingShape& shape);

/// Tokens that the experts of a rank take in of a micro-batch, each as often as it is routed to one of them.
std::int64_t routed_tokens(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape);

/// Bytes of one micro-batch in one layer on one rank.
struct LayerMemory {
  std::int64_t kept = 0;       ///< from the forward to the backward, with the layout's recomputation
  std::int64_t workspace = 0;  ///< in its backward besides: gradients of activations, and what is computed again
};
LayerMemory layer_memory(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape,
                         const Conventions& conventions, bool with_experts);

/// What the last stage holds of one micro-batch at the peak of the loss: logits, and the inputs of the last
/// normalization and the head; where logits are never whole (Conventions::logit_tokens, logit_entries), the gradient of
/// the head, too.
std::int64_t loss_bytes(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape,
                        const Conventions& conventions);

/// The vocabulary as the framework pads it.
std::int64_t padded_vocabulary(const llm::Transformer& model, const llm::Layout& layout,
                               const Conventions& conventions);

}  // namespace dovetail::cost
