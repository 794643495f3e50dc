#include "runtime/model/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace dovetail::runtime {
namespace {

Tensor flat(const Tensor& x) { return x.reshape({x.size(0), -1}); }

/// Queries or keys: projected, normalized by head where the model does, rotated.
Tensor projected_heads(const Linear& linear, const Parameter* norm, const PassRows& rows, const Tensor& normal,
                       Tensor& raw) {
  Tensor heads = by_head(project(linear, normal), rows.head_size);
  if (norm != nullptr) {
    raw = heads;
    heads = rows.ops->normalize(raw, *norm, rows.norm_epsilon);
  }
  return rows.ops->rotate(heads, rows.angles);
}

/// Backward of the same up to the projection's output.
Tensor heads_backward(Parameter* norm, const PassRows& rows, const Tensor& raw, const Tensor& dy) {
  const Tensor turned_back = rows.ops->rotate_backward(dy, rows.angles);
  return flat(norm == nullptr ? turned_back : rows.ops->normalize_backward(raw, *norm, rows.norm_epsilon, turned_back));
}

/// Adds the weight's gradient; the derivative by the projection's input is added to `dx`, or is it where there is none.
void backward_into(Tensor& dx, const Linear& linear, const Tensor& x, const Tensor& dy) {
  add_weight_gradient(linear, x, dy);
  const Tensor more = project_backward(linear, dy);
  if (dx.defined())
    dx.add_(more);
  else
    dx = more;
}

/// The derivative by what the attention block adds to, given that by the sum.
Tensor attention_backward(const Layer& layer, const PassRows& rows, const LayerKept& kept, const Tensor& dy) {
  const Tensor attended = flat(kept.attention.out);
  add_weight_gradient(layer.output, attended, dy);
  const Tensor d_out = by_head(project_backward(layer.output, dy), rows.head_size);
  const AttentionBackward slopes =
      rows.ops->attend_backward(kept.query, kept.key, kept.value, kept.attention, rows.offsets, d_out);
  Tensor d_normal;
  backward_into(d_normal, layer.query, kept.normal,
                heads_backward(layer.query_norm, rows, kept.raw_query, slopes.query));
  backward_into(d_normal, layer.key, kept.normal, heads_backward(layer.key_norm, rows, kept.raw_key, slopes.key));
  backward_into(d_normal, layer.value, kept.normal, flat(slopes.value));
  return rows.ops->normalize_backward(kept.input, *layer.input_norm, rows.norm_epsilon, d_normal).add_(dy);
}

Tensor feed_forward_backward(const Layer& layer, const PassRows& rows, const LayerKept& kept, const Tensor& dy) {
  add_weight_gradient(layer.down, kept.product, dy);
  const GatedBackward slopes = rows.ops->gated_backward(kept.gate, kept.up, project_backward(layer.down, dy));
  Tensor d_normal;
  backward_into(d_normal, layer.gate, kept.middle_normal, slopes.gate);
  backward_into(d_normal, layer.up, kept.middle_normal, slopes.up);
  return rows.ops->normalize_backward(kept.middle, *layer.middle_norm, rows.norm_epsilon, d_normal).add_(dy);
}

}  // namespace

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

Tensor forward(const Layer& layer, const PassRows& rows, const Tensor& x, LayerKept* kept) {
  LayerKept own;
  LayerKept& all = kept != nullptr ? *kept : own;
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

Tensor backward(const Layer& layer, const PassRows& rows, LayerKept& kept, const Tensor& dy) {
  if (!kept.normal.defined()) (void)forward(layer, rows, Tensor(kept.input), &kept);
  return attention_backward(layer, rows, kept, feed_forward_backward(layer, rows, kept, dy));
}

}  // namespace dovetail::runtime
