// Small models with random weights for tests.
#pragma once

#include <cstdint>

#include "base/random.h"
#include "runtime/model/micro_batch_pass.h"

namespace dovetail::runtime {

struct TinyShape {
  llm::Head head = llm::Head::language_model;
  bool tied = false;
  bool bias = false;
  bool head_norms = false;
  std::int64_t key_value_heads = 2;
  std::int64_t layers = 2;
};

constexpr std::int64_t tiny_vocabulary = 11;

/// Returns a model with hidden size 12 and four heads of size 6, with gradients. Its weights are far enough from zero
/// that each of them matters.
inline Model tiny_model(const TinyShape& shape, std::uint64_t seed, at::ScalarType type = at::kDouble) {
  llm::Transformer transformer;
  transformer.layers = shape.layers;
  transformer.hidden = 12;
  transformer.heads = 4;
  transformer.key_value_heads = shape.key_value_heads;
  transformer.head_size = 6;
  transformer.width = 20;
  transformer.vocabulary = tiny_vocabulary;
  transformer.head = shape.head;
  transformer.tied_embeddings = shape.tied;
  transformer.query_key_value_bias = shape.bias;
  transformer.query_key_norm = shape.head_norms;
  Weights weights = empty_weights(transformer, llm::Computation(), type);
  fill_randomly(weights, seed);
  base::Random random(seed, 77);
  for (Parameter& parameter : weights.parameters) {
    if (parameter.is.tied) continue;
    for (std::int64_t i = 0; i < parameter.value.numel(); ++i) {
      const double more = 0.6 * (random.unit() - 0.5);
      if (type == at::kDouble)
        parameter.value.data_ptr<double>()[i] += more;
      else
        parameter.value.data_ptr<float>()[i] += static_cast<float>(more);
    }
  }
  make_gradients(weights);
  return Model(std::move(weights));
}

}  // namespace dovetail::runtime
