#include "llm/tensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/assert.h"

namespace dovetail::llm {
namespace {

/// A projection from `input` to `output` features.
struct Projection {
  std::string name;
  std::int64_t output;
  std::int64_t input;
  Split split;
  std::int64_t unit = 1;
  bool bias = false;
  std::int64_t expert = -1;
};

/// Collects the tensors of one layer.
class LayerWriter {
 public:
  LayerWriter(const Transformer& model, std::int64_t layer)
      : model_(model), layer_(layer), prefix_(fmt::format("model.layers.{}.", layer)) {}

  std::vector<Tensor> write() {
    add_norm("input_layernorm", model_.hidden, model_.normalization == Normalization::layer);
    model_.latent ? add_latent_attention(*model_.latent) : add_attention();
    add_norm("post_attention_layernorm", model_.hidden, model_.normalization == Normalization::layer);
    has_experts(model_, layer_) ? add_experts(*model_.experts) : add_feed_forward("mlp.", model_.width, -1);
    return std::move(tensors_);
  }

 private:
  void add(std::string name, std::int64_t rows, std::int64_t columns, Split split, std::int64_t unit,
           std::int64_t expert, bool adapter = false) {
    Tensor tensor;
    tensor.name = prefix_ + std::move(name);
    tensor.layer = layer_;
    tensor.rows = rows;
    tensor.columns = columns;
    tensor.split = split;
    tensor.unit = unit;
    tensor.expert = expert;
    tensor.adapter = adapter;
    tensors_.push_back(std::move(tensor));
  }

  void add_norm(const std::string& name, std::int64_t size, bool shift) {
    add(name + ".weight", size, 1, Split::none, 1, -1);
    if (shift) add(name + ".bias", size, 1, Split::none, 1, -1);
  }

  void add_projection(const Projection& made) {
    add(made.name + ".weight", made.output, made.input, made.split, made.unit, made.expert);
    // A projection that is split by columns produces partial sums, so its bias is added once, to the sum.
    const Split of_output = made.split == Split::rows ? Split::rows : Split::none;
    const Split of_input = made.split == Split::columns ? Split::columns : Split::none;
    if (made.bias) add(made.name + ".bias", made.output, 1, of_output, made.unit, made.expert);
    if (model_.adapter_rank == 0) return;
    add(made.name + ".lora_A.weight", model_.adapter_rank, made.input, of_input,
        of_input == Split::none ? 1 : made.unit, made.expert, true);
    add(made.name + ".lora_B.weight", made.output, model_.adapter_rank, of_output,
        of_output == Split::none ? 1 : made.unit, made.expert, true);
  }

  void add_attention() {
    const std::int64_t size = model_.head_size;
    const bool bias = model_.query_key_value_bias;
    add_projection({"self_attn.q_proj", model_.heads * size, model_.hidden, Split::rows, size, bias});
    add_projection({"self_attn.k_proj", model_.key_value_heads * size, model_.hidden, Split::rows, size, bias});
    add_projection({"self_attn.v_proj", model_.key_value_heads * size, model_.hidden, Split::rows, size, bias});
    add_projection(
        {"self_attn.o_proj", model_.hidden, model_.heads * size, Split::columns, size, model_.attention_output_bias});
    if (!model_.query_key_norm) return;
    add_norm("self_attn.q_norm", size, false);
    add_norm("self_attn.k_norm", size, false);
  }

  void add_latent_attention(const LatentAttention& latent) {
    const std::int64_t query = latent.plain_size + latent.rotary_size;
    const std::int64_t opened = latent.plain_size + latent.value_size;
    const bool compressed = latent.query_rank > 0;
    if (compressed) {
      add_projection({"self_attn.q_a_proj", latent.query_rank, model_.hidden, Split::none});
      add_norm("self_attn.q_a_layernorm", latent.query_rank, false);
    }
    add_projection({compressed ? "self_attn.q_b_proj" : "self_attn.q_proj", model_.heads * query,
                    compressed ? latent.query_rank : model_.hidden, Split::rows, query});
    add_projection(
        {"self_attn.kv_a_proj_with_mqa", latent.key_value_rank + latent.rotary_size, model_.hidden, Split::none});
    add_norm("self_attn.kv_a_layernorm", latent.key_value_rank, false);
    add_projection({"self_attn.kv_b_proj", model_.heads * opened, latent.key_value_rank, Split::rows, opened});
    add_projection(
        {"self_attn.o_proj", model_.hidden, model_.heads * latent.value_size, Split::columns, latent.value_size});
  }

  void add_feed_forward(const std::string& prefix, std::int64_t width, std::int64_t expert) {
    const bool bias = model_.feed_forward_bias;
    if (model_.feed_forward == FeedForward::gated)
      add_projection({prefix + "gate_proj", width, model_.hidden, Split::rows, 1, bias, expert});
    add_projection({prefix + "up_proj", width, model_.hidden, Split::rows, 1, bias, expert});
    add_projection({prefix + "down_proj", model_.hidden, width, Split::columns, 1, bias, expert});
  }

  void add_experts(const Experts& experts) {
    add("mlp.gate.weight", experts.count, model_.hidden, Split::none, 1, -1);
    if (experts.router_bias) add("mlp.gate.e_score_correction_bias", experts.count, 1, Split::none, 1, -1);
    for (std::int64_t expert = 0; expert < experts.count; ++expert)
      add_feed_forward(fmt::format("mlp.experts.{}.", expert), experts.width, expert);
    if (experts.shared_width > 0) add_feed_forward("mlp.shared_experts.", experts.shared_width, -1);
    if (experts.shared_gate) add("mlp.shared_expert_gate.weight", 1, model_.hidden, Split::none, 1, -1);
  }

  const Transformer& model_;
  const std::int64_t layer_;
  const std::string prefix_;
  std::vector<Tensor> tensors_;
};

Tensor outer_tensor(std::string name, TensorPosition position, std::int64_t rows, std::int64_t columns, Split split) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.position = position;
  tensor.rows = rows;
  tensor.columns = columns;
  tensor.split = split;
  return tensor;
}

/// Returns the share [begin, end) of `rank`, if `total` is divided among `ranks` in multiples of `unit`.
std::pair<std::int64_t, std::int64_t> share_of(std::int64_t total, std::int64_t unit, std::int64_t ranks,
                                               std::int64_t rank) {
  const std::int64_t units = total / unit;
  if (units < ranks) {
    const std::int64_t held = rank * units / ranks;
    return {held * unit, (held + 1) * unit};
  }
  const std::int64_t each = units / ranks;
  const std::int64_t more = units % ranks;
  const std::int64_t begin = rank * each + std::min(rank, more);
  return {begin * unit, (begin + each + (rank < more ? 1 : 0)) * unit};
}

}  // namespace

std::vector<Tensor> layer_tensors(const Transformer& model, std::int64_t layer) {
  return LayerWriter(model, layer).write();
}

std::vector<Tensor> embedding_tensors(const Transformer& model) {
  std::vector<Tensor> tensors{outer_tensor("model.embed_tokens.weight", TensorPosition::embedding, model.vocabulary,
                                           model.hidden, Split::rows)};
  if (model.positions > 0)
    tensors.push_back(outer_tensor("model.embed_positions.weight", TensorPosition::embedding, model.positions,
                                   model.hidden, Split::none));
  return tensors;
}

std::vector<Tensor> head_tensors(const Transformer& model) {
  std::vector<Tensor> tensors{
      outer_tensor("model.norm.weight", TensorPosition::final_norm, model.hidden, 1, Split::none)};
  if (model.normalization == Normalization::layer)
    tensors.push_back(outer_tensor("model.norm.bias", TensorPosition::final_norm, model.hidden, 1, Split::none));
  const bool scalar = model.head == Head::scalar;
  tensors.push_back(
      scalar ? outer_tensor("score.weight", TensorPosition::head, 1, model.hidden, Split::none)
             : outer_tensor("lm_head.weight", TensorPosition::head, model.vocabulary, model.hidden, Split::rows));
  tensors.back().tied = model.tied_embeddings;
  return tensors;
}

std::vector<Tensor> tensors_of(const Transformer& model) {
  std::vector<Tensor> tensors = embedding_tensors(model);
  const auto append = [&tensors](std::vector<Tensor> more) {
    tensors.insert(tensors.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  for (std::int64_t layer = 0; layer < model.layers; ++layer) append(layer_tensors(model, layer));
  append(head_tensors(model));
  return tensors;
}

Slice slice_of(const Tensor& tensor, std::int64_t ranks, std::int64_t rank) {
  DOVETAIL_ASSERT(rank >= 0 && rank < ranks);
  Slice slice{0, tensor.rows, 0, tensor.columns};
  if (tensor.split == Split::rows)
    std::tie(slice.row_begin, slice.row_end) = share_of(tensor.rows, tensor.unit, ranks, rank);
  if (tensor.split == Split::columns)
    std::tie(slice.column_begin, slice.column_end) = share_of(tensor.columns, tensor.unit, ranks, rank);
  return slice;
}

}  // namespace dovetail::llm
