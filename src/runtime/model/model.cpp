#include "runtime/model/model.h"

#include <utility>

namespace dovetail::runtime {

Model::Model(Weights weights_of_it) : weights(std::move(weights_of_it)) {
  embedding = weights.find_or_null("model.embed_tokens.weight");
  for (std::int64_t index = weights.layers.begin; index < weights.layers.end; ++index)
    layers.push_back(layer_of(weights, index));
  if (!weights.has_head()) return;
  final_norm = &weights.find("model.norm.weight");
  head.weight = &weights.parameters.back();
}

}  // namespace dovetail::runtime
