// The weights of one model as tensors.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "llm/computation.h"
#include "llm/tensors.h"
#include "llm/transformer.h"
#include "runtime/model/tensor.h"

namespace dovetail::runtime {

/// A weight, and where it is trained its gradient.
struct Parameter {
  llm::Tensor is;   ///< its name and shape
  Tensor value;     ///< [rows, columns], a vector [rows]
  Tensor gradient;  ///< likewise; undefined: it is frozen
};

/// A model's weights, in the order of llm::tensors_of. A tied head is an entry whose value is the embedding's; its
/// gradient is its own, so that either is summed in the order of micro-batches.
struct Weights {
  llm::Transformer shape;
  llm::Computation computation;
  std::vector<Parameter> parameters;

  /// Null where there is none of that name.
  Parameter* find_or_null(std::string_view name);
  const Parameter* find_or_null(std::string_view name) const;
  /// REQUIRES: there is one of that name.
  Parameter& find(std::string_view name);
};

/// Weights without values; each parameter's value is an empty tensor of its shape. `type`: kFloat or kDouble.
Weights empty_weights(const llm::Transformer& shape, const llm::Computation& computation, at::ScalarType type);

/// Gives each weight a gradient, all 0.
void make_gradients(Weights& weights);
/// Makes all gradients 0.
void clear_gradients(Weights& weights);

/// Fills all weights from streams (seed, place in the model): matrices with the normal distribution of deviation 0.02
/// (of projections back into the residual stream 0.02 / sqrt(2 layers), as GPT-2), scales of norms with 1, biases and
/// scalar heads with 0.
void fill_randomly(Weights& weights, std::uint64_t seed);

}  // namespace dovetail::runtime
