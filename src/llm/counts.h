// Parameters, FLOPs and bytes of a transformer, in closed form.
#pragma once

#include <cstdint>

#include "llm/transformer.h"

namespace dovetail::llm {

/// Parameters of a model by part. `all` is the sum over tensors_of, without tied tensors and adapters.
struct ParameterCounts {
  std::int64_t embedding = 0;    ///< with learned positions
  std::int64_t dense_layer = 0;  ///< one layer without experts
  /// One layer with experts, excluding the routed experts: attention, norms, router, shared experts.
  std::int64_t expert_layer = 0;
  std::int64_t expert = 0;    ///< one routed expert
  std::int64_t head = 0;      ///< with the last norm; for a tied head, only that norm
  std::int64_t all = 0;       ///< without adapters
  std::int64_t active = 0;    ///< parameters that a token uses: all except experts to which it is not routed
  std::int64_t adapters = 0;  ///< parameters of LoRA adapters
  std::int64_t trained = 0;   ///< adapters if there are any, otherwise all
};
ParameterCounts count_parameters(const Transformer& model);

/// Returns how many of a layer's parameters each token is multiplied with, which determines FLOPs: projections,
/// adapters, router, shared and active experts, without norms and biases.
std::int64_t layer_multiplications(const Transformer& model, std::int64_t layer);
/// Returns how many of the head's parameters each token is multiplied with: vocabulary x hidden, tied or not; hidden
/// for a scalar head.
std::int64_t head_multiplications(const Transformer& model);

/// Token count of sequences, and the sum of the squares of their lengths.
struct Tokens {
  double count = 0;
  double squares = 0;
};

/// Returns the FLOPs of a forward pass through one layer: 2 for each multiplication and token, plus causal attention.
/// For a sequence of s tokens, attention takes 2 x heads x (query size + value size) x s^2 / 2: two products over the
/// unmasked half of the scores.
double layer_forward_flops(const Transformer& model, std::int64_t layer, const Tokens& tokens);
/// Returns the FLOPs of a forward pass through all layers, and through the head for each token.
double forward_flops(const Transformer& model, const Tokens& tokens);
/// Returns the number of KV cache elements of a token in all layers. Latent attention caches its compressed form.
std::int64_t key_value_elements(const Transformer& model);
/// Returns the number of KV cache elements of a token on one of `ranks` tensor-parallel ranks. If there are fewer
/// key-value heads than ranks, they are replicated. The compressed form of latent attention is on every rank.
std::int64_t key_value_elements(const Transformer& model, std::int64_t ranks);

}  // namespace dovetail::llm
