#include "llm/counts.h"

#include <algorithm>

#include "llm/tensors.h"

namespace dovetail::llm {
namespace {

struct Sums {
  std::int64_t shared = 0;
  std::int64_t routed = 0;
  std::int64_t adapters = 0;
  std::int64_t multiplied = 0;  // multiplied with each token
};

/// Returns the model with one expert, which represents all of them: layers with hundreds of experts have thousands of
/// tensors.
Transformer with_one_expert(Transformer model) {
  if (model.experts) model.experts->count = model.experts->active = 1;
  return model;
}

Sums sums_of(const std::vector<Tensor>& tensors) {
  Sums sums;
  for (const Tensor& tensor : tensors) {
    if (tensor.adapter)
      sums.adapters += tensor.elements();
    else if (tensor.expert >= 0)
      sums.routed += tensor.elements();
    else if (!tensor.tied)
      sums.shared += tensor.elements();
    if (tensor.columns > 1 && tensor.expert < 0) sums.multiplied += tensor.elements();
  }
  return sums;
}

/// Sums of a layer with experts, or without. All layers of a kind are equal.
Sums layer_sums(const Transformer& model, bool with_experts) {
  Transformer one = with_one_expert(model);
  if (one.experts) one.experts->dense_layers = with_experts ? 0 : 1;
  Sums sums = sums_of(layer_tensors(one, 0));
  if (!with_experts || !model.experts) return sums;
  const Experts& experts = *model.experts;
  // The router has one row for each expert, and `one` has only the first.
  const std::int64_t router = (experts.count - 1) * (model.hidden + (experts.router_bias ? 1 : 0));
  sums.shared += router;
  std::int64_t of_expert = 0;
  std::int64_t adapters_of_expert = 0;
  for (const Tensor& tensor : layer_tensors(one, 0)) {
    if (tensor.expert < 0) continue;
    if (tensor.adapter) adapters_of_expert += tensor.elements();
    if (tensor.columns > 1) of_expert += tensor.elements();
  }
  sums.adapters += (experts.count - 1) * adapters_of_expert;
  sums.multiplied += experts.active * of_expert + (experts.count - 1) * model.hidden;
  return sums;
}

std::int64_t layers_with_experts(const Transformer& model) {
  return model.experts ? std::max<std::int64_t>(0, model.layers - model.experts->dense_layers) : 0;
}

/// Returns the size of a head's query and value together.
std::int64_t score_size(const Transformer& model) {
  if (model.latent) return model.latent->plain_size + model.latent->rotary_size + model.latent->value_size;
  return 2 * model.head_size;
}

}  // namespace

ParameterCounts count_parameters(const Transformer& model) {
  ParameterCounts counts;
  const std::int64_t routed_layers = layers_with_experts(model);
  const std::int64_t dense_layers = model.layers - routed_layers;
  const Sums dense = layer_sums(model, false);
  const Sums with_experts = model.experts ? layer_sums(model, true) : Sums{};
  counts.embedding = sums_of(embedding_tensors(model)).shared;
  counts.dense_layer = dense.shared;
  counts.expert_layer = with_experts.shared;
  counts.expert = with_experts.routed;
  counts.head = sums_of(head_tensors(model)).shared;
  const std::int64_t experts = model.experts ? model.experts->count : 0;
  const std::int64_t active = model.experts ? model.experts->active : 0;
  const std::int64_t rest =
      counts.embedding + counts.head + dense_layers * counts.dense_layer + routed_layers * counts.expert_layer;
  counts.all = rest + routed_layers * experts * counts.expert;
  counts.active = rest + routed_layers * active * counts.expert;
  counts.adapters = dense_layers * dense.adapters + routed_layers * with_experts.adapters;
  counts.trained = model.adapter_rank > 0 ? counts.adapters : counts.all;
  return counts;
}

std::int64_t layer_multiplications(const Transformer& model, std::int64_t layer) {
  return layer_sums(model, has_experts(model, layer)).multiplied;
}

std::int64_t head_multiplications(const Transformer& model) {
  return model.head == Head::scalar ? model.hidden : model.hidden * model.vocabulary;
}

double layer_forward_flops(const Transformer& model, std::int64_t layer, const Tokens& tokens) {
  return 2.0 * static_cast<double>(layer_multiplications(model, layer)) * tokens.count +
         static_cast<double>(model.heads * score_size(model)) * tokens.squares;
}

double forward_flops(const Transformer& model, const Tokens& tokens) {
  const std::int64_t routed_layers = layers_with_experts(model);
  double flops = 2.0 * static_cast<double>(head_multiplications(model)) * tokens.count;
  if (routed_layers > 0)
    flops += static_cast<double>(routed_layers) * layer_forward_flops(model, model.layers - 1, tokens);
  if (routed_layers < model.layers)
    flops += static_cast<double>(model.layers - routed_layers) * layer_forward_flops(model, 0, tokens);
  return flops;
}

std::int64_t key_value_elements(const Transformer& model) {
  if (model.latent) return model.layers * (model.latent->key_value_rank + model.latent->rotary_size);
  return model.layers * 2 * model.key_value_heads * model.head_size;
}

std::int64_t key_value_elements(const Transformer& model, std::int64_t ranks) {
  if (model.latent) return key_value_elements(model);
  const std::int64_t heads = (model.key_value_heads + ranks - 1) / ranks;
  return model.layers * 2 * heads * model.head_size;
}

}  // namespace dovetail::llm
