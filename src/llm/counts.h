// Parameters, FLOPs and bytes of a transformer: closed forms that the tensors add up to.
#pragma once

#include <cstdint>

#include "llm/transformer.h"

namespace dovetail::llm {

/// Parameters of the parts of a model. The sum over tensors_of is `all`.
struct ParameterCounts {
  std::int64_t embedding = 0;    ///< with learned positions
  std::int64_t dense_layer = 0;  ///< one layer without experts: what the first layers are, and all where there are none
  std::int64_t expert_layer =
      0;  ///< one layer with experts, without the routed ones: attention, norms, router, shared experts
  std::int64_t expert = 0;    ///< one routed expert
  std::int64_t head = 0;      ///< with the last norm; a tied head counts nothing here
  std::int64_t all = 0;       ///< without adapters
  std::int64_t active = 0;    ///< that a token meets: all, less the experts that it is not routed to
  std::int64_t adapters = 0;  ///< of LoRA
  std::int64_t trained = 0;   ///< adapters where there are any, else all
};
ParameterCounts count_parameters(const Transformer& model);

/// Parameters that a token is multiplied with in a layer (what FLOPs are counted from): projections, router and active
/// experts, without norms and biases.
std::int64_t layer_multiplications(const Transformer& model, std::int64_t layer);
/// The same of the head: vocabulary x hidden, tied or not; hidden for a scalar head.
std::int64_t head_multiplications(const Transformer& model);

/// What sequences add up to: their tokens, and the sum of the squares of their lengths.
struct Tokens {
  double count = 0;
  double squares = 0;
};

/// FLOPs of a forward pass through one layer: 2 a multiplication and token, and causal attention, 2 x heads x (query +
/// value size) x s^2 / 2 a sequence (the two products with the half of the scores that is not masked).
double layer_forward_flops(const Transformer& model, std::int64_t layer, const Tokens& tokens);
/// Of all layers, and of the head on each token.
double forward_flops(const Transformer& model, const Tokens& tokens);
/// Keys and values of a token in all layers, in elements; for latent attention its compressed form.
std::int64_t key_value_elements(const Transformer& model);
/// The same of one tensor-parallel rank of `ranks`: key-value heads that are fewer than the ranks are there several
/// times, the compressed form of latent attention on each.
std::int64_t key_value_elements(const Transformer& model, std::int64_t ranks);

}  // namespace dovetail::llm
