// The shape of a decoder-only transformer, which determines its parameters, FLOPs and bytes.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>

#include "base/descriptor.h"

namespace dovetail::llm {

/// Root mean square normalization (a scale), or layer normalization (a scale and a shift).
enum class Normalization { root_mean_square, layer };
constexpr auto names_of(Normalization) {
  return std::array{base::EnumName{"root_mean_square", Normalization::root_mean_square},
                    base::EnumName{"layer", Normalization::layer}};
}

/// The feed-forward network of a layer: gated (SwiGLU: gate, up and down projections) or plain (up and down).
enum class FeedForward { gated, plain };
constexpr auto names_of(FeedForward) {
  return std::array{base::EnumName{"gated", FeedForward::gated}, base::EnumName{"plain", FeedForward::plain}};
}

/// The output of a model: logits over the vocabulary, or one value for each token (critic and reward models).
enum class Head { language_model, scalar };
constexpr auto names_of(Head) {
  return std::array{base::EnumName{"language_model", Head::language_model}, base::EnumName{"scalar", Head::scalar}};
}

/// Upper limits of the number of layers, of the hidden size, expert widths and ranks of compressed vectors, and of the
/// head size. The width of a dense feed-forward network may be 4 max_width.
inline constexpr std::int64_t max_layer_count = 1 << 12;
inline constexpr std::int64_t max_width = 1 << 20;
inline constexpr std::int64_t max_head_size = 1 << 14;

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1): keys and values are cached as one
/// compressed vector for each token.
struct LatentAttention {
  std::int64_t query_rank = 0;      ///< rank of the compressed query; 0: not compressed
  std::int64_t key_value_rank = 0;  ///< rank of the compressed keys and values
  std::int64_t plain_size = 0;      ///< size of a head's query and key without the rotary part
  std::int64_t rotary_size = 0;     ///< size of the rotary part, which the keys of all heads share
  std::int64_t value_size = 0;      ///< size of a head's value

  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};
template <std::same_as<LatentAttention> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Integer;
  return base::fields<T>(
      field("query_rank", &T::query_rank, Integer{0, max_width}, {.what = "the rank of compressed queries"}),
      field("key_value_rank", &T::key_value_rank, Integer{1, max_width},
            {.what = "the rank of compressed keys and values"}),
      field("plain_size", &T::plain_size, Integer{0, max_head_size}, {.what = "the non-rotary size of a head"}),
      field("rotary_size", &T::rotary_size, Integer{1, max_head_size}, {.what = "the rotary size of a head"}),
      field("value_size", &T::value_size, Integer{1, max_head_size}, {.what = "the size of a head's value"}));
}

/// Mixture of experts, which replaces the feed-forward network in all layers except the first `dense_layers`.
struct Experts {
  std::int64_t count = 0;         ///< experts in each such layer
  std::int64_t active = 0;        ///< experts that a token is routed to
  std::int64_t width = 0;         ///< width of each expert's feed-forward network
  std::int64_t shared_width = 0;  ///< total width of the shared experts, which process every token; 0: none
  bool shared_gate = false;       ///< whether a learned gate weighs the output of the shared experts (Qwen2-MoE)
  std::int64_t dense_layers = 0;  ///< number of layers at the start that have a dense network instead
  bool router_bias = false;       ///< whether the router adds a bias to each expert's score (DeepSeek-V3)

  friend bool operator==(const Experts&, const Experts&) = default;
};
template <std::same_as<Experts> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Flag, base::Integer;
  return base::fields<T>(
      field("count", &T::count, Integer{1, 1 << 16}, {.what = "the number of experts"}),
      field("active", &T::active, Integer{1, 1 << 16}, {.what = "the number of active experts"}),
      field("width", &T::width, Integer{1, max_width}, {.what = "the width of an expert"}),
      field("shared_width", &T::shared_width, Integer{0, max_width}, {.what = "the width of the shared experts"}),
      field("shared_gate", &T::shared_gate, Flag{}),
      field("dense_layers", &T::dense_layers, Integer{0, max_layer_count},
            {.what = "the number of dense layers before those with experts"}),
      field("router_bias", &T::router_bias, Flag{}));
}

struct Transformer {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t key_value_heads = 0;  ///< fewer than heads with grouped-query attention
  std::int64_t head_size = 0;
  std::int64_t width = 0;  ///< width of the dense feed-forward network
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;  ///< learned position embeddings; 0 for rotary positions
  FeedForward feed_forward = FeedForward::gated;
  Normalization normalization = Normalization::root_mean_square;
  Head head = Head::language_model;
  bool tied_embeddings = false;  ///< whether the language-model head shares the weights of the embedding
  bool query_key_norm = false;   ///< whether each head's query and key are normalized (Qwen3)
  bool query_key_value_bias = false;
  bool attention_output_bias = false;
  bool feed_forward_bias = false;
  std::optional<LatentAttention> latent;
  std::optional<Experts> experts;
  /// Rank of LoRA (arXiv 2106.09685) on all projections of a layer except routers and the gates of shared experts. 0:
  /// all weights are trained.
  std::int64_t adapter_rank = 0;

  friend bool operator==(const Transformer&, const Transformer&) = default;
};
/// The name is not part of the hash: models of equal shape are equivalent.
template <std::same_as<Transformer> T>
constexpr auto fields_of(const T*) {
  using base::field, base::Choice, base::Flag, base::OptionalStruct, base::Integer;
  return base::fields<T>(
      field("name", &T::name, base::Name{}, {.hashed = base::Hashed::never}),
      field("layers", &T::layers, Integer{1, max_layer_count}, {.what = "the number of layers"}),
      field("hidden", &T::hidden, Integer{1, max_width}, {.what = "the hidden size"}),
      field("heads", &T::heads, Integer{1, 1 << 12}, {.what = "the number of heads"}),
      field("key_value_heads", &T::key_value_heads, Integer{1, 1 << 12}, {.what = "the number of key-value heads"}),
      field("head_size", &T::head_size, Integer{1, max_head_size}, {.what = "the size of a head"}),
      field("width", &T::width, Integer{1, max_width * 4}, {.what = "the width of the feed-forward network"}),
      field("vocabulary", &T::vocabulary, Integer{1, 1 << 24}, {.what = "the vocabulary size"}),
      field("positions", &T::positions, Integer{0, 1 << 24}, {.what = "the number of learned positions"}),
      field("feed_forward", &T::feed_forward, Choice{}), field("normalization", &T::normalization, Choice{}),
      field("head", &T::head, Choice{}), field("tied_embeddings", &T::tied_embeddings, Flag{}),
      field("query_key_norm", &T::query_key_norm, Flag{}),
      field("query_key_value_bias", &T::query_key_value_bias, Flag{}),
      field("attention_output_bias", &T::attention_output_bias, Flag{}),
      field("feed_forward_bias", &T::feed_forward_bias, Flag{}), field("latent", &T::latent, OptionalStruct{}),
      field("experts", &T::experts, OptionalStruct{}),
      field("adapter_rank", &T::adapter_rank, Integer{0, 1 << 14}, {.what = "the rank of the adapters"}));
}

/// Whether layer `index` (from 0) has experts.
inline bool has_experts(const Transformer& model, std::int64_t index) {
  return model.experts && index >= model.experts->dense_layers;
}

/// Returns `model` with a scalar head that is not tied to the embedding, as a critic or reward model.
Transformer with_scalar_head(Transformer model);

/// Returns why `model` is invalid, such as key-value heads that do not divide the heads; nullopt if it is valid. Limits
/// ensure that no count of parameters, bytes or FLOPs exceeds 63 bits.
std::optional<std::string> find_fault(const Transformer& model);

}  // namespace dovetail::llm
