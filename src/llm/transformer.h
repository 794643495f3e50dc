// The shape of a decoder-only transformer: everything that parameters, FLOPs and bytes are counted from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dovetail::llm {

/// Root mean square (a scale), or layer normalization (a scale and a shift).
enum class Normalization { root_mean_square, layer };

/// The feed-forward network of a layer: gated (SwiGLU: gate, up and down projections) or plain (up and down).
enum class FeedForward { gated, plain };

/// What stands behind the last layer: logits over the vocabulary, or one value a token (critic and reward models).
enum class Head { language_model, scalar };

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1): keys and values are kept as one compressed vector a token.
struct LatentAttention {
  std::int64_t query_rank = 0;      ///< of the compressed query; 0 where queries are not compressed
  std::int64_t key_value_rank = 0;  ///< of the compressed keys and values
  std::int64_t plain_size = 0;      ///< of a head's query and key, without the rotary part
  std::int64_t rotary_size = 0;     ///< of the rotary part, which all heads' keys share
  std::int64_t value_size = 0;      ///< of a head's value

  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

/// Mixture of experts: in place of the one feed-forward network in all layers but the first few.
struct Experts {
  std::int64_t count = 0;         ///< in each such layer
  std::int64_t active = 0;        ///< that a token is routed to
  std::int64_t width = 0;         ///< of each expert's feed-forward network
  std::int64_t shared_width = 0;  ///< of the experts that each token passes, together; 0 without
  bool shared_gate = false;       ///< whether what these give is weighed by a learned gate (Qwen2-MoE)
  std::int64_t dense_layers = 0;  ///< first layers that have the dense network
  bool router_bias = false;       ///< a correction of each expert's score (DeepSeek-V3)

  friend bool operator==(const Experts&, const Experts&) = default;
};

struct Transformer {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t key_value_heads = 0;  ///< fewer than heads with grouped-query attention
  std::int64_t head_size = 0;
  std::int64_t width = 0;  ///< of the dense feed-forward network
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;  ///< learned position embeddings; 0 where positions are rotary
  FeedForward feed_forward = FeedForward::gated;
  Normalization normalization = Normalization::root_mean_square;
  Head head = Head::language_model;
  bool tied_embeddings = false;  ///< the language-model head is the embedding
  bool query_key_norm = false;   ///< a normalization of each head's query and key (Qwen3)
  bool query_key_value_bias = false;
  bool attention_output_bias = false;
  bool feed_forward_bias = false;
  std::optional<LatentAttention> latent;
  std::optional<Experts> experts;
  std::int64_t adapter_rank = 0;  ///< of LoRA (arXiv 2106.09685) on all projections of a layer, but for routers; 0: all weights are trained

  friend bool operator==(const Transformer&, const Transformer&) = default;
};

/// Whether layer `index` (from 0) has experts.
inline bool has_experts(const Transformer& model, std::int64_t index) { return model.experts && index >= model.experts->dense_layers; }

/// `model` as a critic or reward model: with a scalar head of its own.
Transformer with_scalar_head(Transformer model);

/// What in `model` cannot be, such as heads that key-value heads do not divide; nothing where it is sound. Amounts are bounded so that
/// no count of parameters, bytes or FLOPs leaves 63 bits.
std::optional<std::string> find_fault(const Transformer& model);

}  // namespace dovetail::llm
