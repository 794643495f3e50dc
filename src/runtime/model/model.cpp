#include "runtime/model/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace dovetail::runtime {
namespace {

Tensor flat(const Tensor& x) { return x.reshape({x.size(0), -1}); }

/// Returns projected, normalized (if the model does so) and rotated queries or keys.
Tensor projected_heads(const Linear& linear, const Parameter* norm, const PassRows& rows, const Tensor& normal,
                       Tensor& raw) {
  Tensor heads = by_head(project(linear, normal), rows.head_size);
  if (norm != nullptr) {
    raw = heads;
    heads = rows.ops->normalize(raw, *norm, rows.norm_epsilon);
  }
  return rows.ops->rotate(heads, rows.angles);
}

/// Inputs of a layer's backward pass, except the gradient with respect to its output.
struct BackwardContext {
  const Layer& layer;
  const PassRows& rows;
  const LayerActivations& kept;
  GradientSink& sink;

  Tensor normalize_backward(const Tensor& x, Parameter& scale, const Tensor& dy) const {
    NormalizeBackward slopes = rows.ops->normalize_backward(x, scale, rows.norm_epsilon, dy);
    if (slopes.scale.defined()) sink.add(scale, slopes.scale);
    return std::move(slopes.input);
  }

  /// Returns the gradient of queries or keys with respect to their projection's output.
  Tensor heads_backward(Parameter* norm, const Tensor& raw, const Tensor& dy) const {
    const Tensor turned_back = rows.ops->rotate_backward(dy, rows.angles);
    return flat(norm == nullptr ? turned_back : normalize_backward(raw, *norm, turned_back));
  }

  /// Returns the gradient with respect to a projection's input.
  Tensor project_backward(const Linear& linear, const Tensor& x, const Tensor& dy) const {
    sink.add_product(linear, x, dy);
    return runtime::project_backward(linear, dy);
  }
};

/// Returns the gradient with respect to the attention block's input, including the residual connection.
Tensor attention_backward(const BackwardContext& context, const Tensor& dy) {
  const auto& [layer, rows, kept, sink] = context;
  const Tensor d_out = by_head(context.project_backward(layer.output, flat(kept.attention.out), dy), rows.head_size);
  const AttentionBackward slopes =
      rows.ops->attend_backward(kept.query, kept.key, kept.value, kept.attention, rows.offsets, d_out);
  Tensor d_normal = context.project_backward(layer.query, kept.normal,
                                             context.heads_backward(layer.query_norm, kept.raw_query, slopes.query));
  d_normal.add_(context.project_backward(layer.key, kept.normal,
                                         context.heads_backward(layer.key_norm, kept.raw_key, slopes.key)));
  d_normal.add_(context.project_backward(layer.value, kept.normal, flat(slopes.value)));
  return context.normalize_backward(kept.input, *layer.input_norm, d_normal).add_(dy);
}

Tensor feed_forward_backward(const BackwardContext& context, const Tensor& dy) {
  const auto& [layer, rows, kept, sink] = context;
  const GatedBackward slopes =
      rows.ops->gated_backward(kept.gate, kept.up, context.project_backward(layer.down, kept.product, dy));
  Tensor d_normal = context.project_backward(layer.gate, kept.middle_normal, slopes.gate);
  d_normal.add_(context.project_backward(layer.up, kept.middle_normal, slopes.up));
  return context.normalize_backward(kept.middle, *layer.middle_norm, d_normal).add_(dy);
}

}  // namespace

void GradientSink::add_product(const Linear& linear, const Tensor& x, const Tensor& dy) {
  if (linear.weight->gradient.defined() || (linear.bias != nullptr && linear.bias->gradient.defined()))
    take([linear, x, dy] { add_weight_gradient(linear, x, dy); });
}

void GradientSink::add(Parameter& parameter, const Tensor& slopes) {
  if (parameter.gradient.defined()) take([&parameter, slopes] { parameter.gradient.add_(slopes); });
}

void GradientSink::add_rows(Parameter& parameter, const Tensor& rows, const Tensor& slopes) {
  if (parameter.gradient.defined())
    take([&parameter, rows, slopes] { parameter.gradient.index_add_(0, rows, slopes); });
}

void GradientSink::add_held() {
  for (const std::function<void()>& addition : std::exchange(held_, {})) addition();
}

void GradientSink::take(std::function<void()> addition) {
  if (holds_)
    held_.push_back(std::move(addition));
  else
    addition();
}

Layer layer_of(Weights& weights, std::int64_t index) {
  const std::string prefix = fmt::format("model.layers.{}.", index);
  const auto parameter = [&](std::string_view name) {
    return weights.find_or_null(fmt::format("{}{}.weight", prefix, name));
  };
  const auto linear = [&](std::string_view name) {
    return Linear{parameter(name), weights.find_or_null(fmt::format("{}{}.bias", prefix, name))};
  };
  return {parameter("input_layernorm"),  linear("self_attn.q_proj"),
          linear("self_attn.k_proj"),    linear("self_attn.v_proj"),
          parameter("self_attn.q_norm"), parameter("self_attn.k_norm"),
          linear("self_attn.o_proj"),    parameter("post_attention_layernorm"),
          linear("mlp.gate_proj"),       linear("mlp.up_proj"),
          linear("mlp.down_proj")};
}

Tensor forward(const Layer& layer, const PassRows& rows, const Tensor& x, LayerActivations* kept) {
  LayerActivations own;
  LayerActivations& all = kept != nullptr ? *kept : own;
  all.input = x;
  all.normal = rows.ops->normalize(x, *layer.input_norm, rows.norm_epsilon);
  all.query = projected_heads(layer.query, layer.query_norm, rows, all.normal, all.raw_query);
  all.key = projected_heads(layer.key, layer.key_norm, rows, all.normal, all.raw_key);
  all.value = by_head(project(layer.value, all.normal), rows.head_size);
  all.attention = rows.ops->attend(all.query, all.key, all.value, rows.offsets);
  all.middle = project(layer.output, flat(all.attention.out)).add_(x);
  all.middle_normal = rows.ops->normalize(all.middle, *layer.middle_norm, rows.norm_epsilon);
  all.gate = project(layer.gate, all.middle_normal);
  all.up = project(layer.up, all.middle_normal);
  all.product = rows.ops->gated(all.gate, all.up);
  return project(layer.down, all.product).add_(all.middle);
}

Tensor backward(const Layer& layer, const PassRows& rows, LayerActivations& kept, const Tensor& dy,
                GradientSink& sink) {
  if (!kept.normal.defined()) (void)forward(layer, rows, Tensor(kept.input), &kept);
  const BackwardContext context{layer, rows, kept, sink};
  return attention_backward(context, feed_forward_backward(context, dy));
}

Model::Model(Weights weights_of_it) : weights(std::move(weights_of_it)) {
  embedding = weights.find_or_null("model.embed_tokens.weight");
  for (std::int64_t index = weights.layers.begin; index < weights.layers.end; ++index)
    layers.push_back(layer_of(weights, index));
  if (!weights.has_head()) return;
  final_norm = &weights.find("model.norm.weight");
  head.weight = &weights.parameters.back();
}

}  // namespace dovetail::runtime
