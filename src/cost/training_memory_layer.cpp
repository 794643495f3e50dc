#include <algorithm>
#include <cmath>

#include "cost/training_memory.h"

namespace dovetail::cost {
namespace {

std::int64_t divided_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

/// Returns the number of ranks that sequence parallelism splits a sequence over.
std::int64_t sequence_cuts(const llm::Layout& layout) { return layout.sequence_parallel ? layout.tensor : 1; }

/// Bytes per token, by how they are split.
struct PerToken {
  std::int64_t whole = 0;     // replicated on each tensor-parallel rank
  std::int64_t sequence = 0;  // split by sequence parallelism, if enabled
  std::int64_t tensor = 0;    // of one rank, after tensor parallelism

  PerToken& operator+=(const PerToken& other) {
    whole += other.whole;
    sequence += other.sequence;
    tensor += other.tensor;
    return *this;
  }
};

std::int64_t bytes_of(const PerToken& per_token, const llm::Layout& layout, std::int64_t tokens) {
  return (per_token.whole + per_token.tensor) * tokens + divided_up(per_token.sequence * tokens, sequence_cuts(layout));
}

/// Returns the bytes kept by a normalization of hidden size: its input, which is the residual stream, and its output,
/// which the next projections keep.
PerToken norm_bytes(const llm::Transformer& model, const Conventions& conventions) {
  PerToken kept;
  kept.sequence = (conventions.stream_bytes + conventions.norm_copy_bytes) * model.hidden;
  (conventions.keeps_gathered_inputs ? kept.whole : kept.sequence) += conventions.activation_bytes * model.hidden;
  return kept;
}

/// Counts the bytes of one layer.
class LayerAccount {
 public:
  LayerAccount(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape,
               const Conventions& conventions, bool with_experts)
      : model_(model), layout_(layout), conventions_(conventions), element_(conventions.activation_bytes) {
    tokens_ = tokens_of_rank(layout, shape);
    routed_ = with_experts ? routed_tokens(model, layout, shape) : 0;
    width_ = cut(with_experts ? model.experts->shared_width : model.width);
    expert_width_ = with_experts ? divided_up(model.experts->width, layout.expert_tensor) : 0;
    heads_ = heads_of_rank();
  }

  /// Returns the bytes that the layer keeps without recomputation.
  std::int64_t kept_whole() const {
    PerToken kept = around_network();
    kept.tensor += network(width_, true);
    if (routed_ > 0) kept.sequence += 8 * model_.experts->count;  // router scores and probabilities, in fp32
    const std::int64_t of_routed = (conventions_.keeps_expert_output ? 2 : 1) * model_.hidden * element_ +
                                   network(expert_width_, conventions_.keeps_expert_product);
    return bytes_of(kept, layout_, tokens_) + of_routed * routed_;
  }

  /// Returns the bytes kept if the feed-forward network is recomputed from its input.
  std::int64_t kept_around_network() const { return bytes_of(around_network(), layout_, tokens_); }

  /// Returns the bytes kept under selective recomputation per operator: the input, the output of attention, and every
  /// second matrix product of q, k, v, output, gate, up, down, from the first on.
  std::int64_t kept_every_second_product() const {
    PerToken kept;
    kept.sequence = (conventions_.stream_bytes + element_) * model_.hidden;
    kept.tensor = (heads_.query + heads_.value + heads_.output + width_) * element_ + log_sums();
    return bytes_of(kept, layout_, tokens_);
  }

  /// Returns the bytes kept under full recomputation: the layer's input.
  std::int64_t kept_input() const {
    const double of_hidden = conventions_.stream_bytes + conventions_.checkpoint_bytes;
    const auto input = static_cast<std::int64_t>(std::ceil(of_hidden * static_cast<double>(model_.hidden)));
    return bytes_of({0, input, 0}, layout_, tokens_);
  }

  /// Returns the bytes of activation gradients in the backward: of the larger half of the layer, and of the stream.
  std::int64_t gradients() const {
    const std::int64_t of_hidden = model_.hidden * element_;
    std::int64_t largest = std::max(network_gradients(width_), attention_gradients()) * tokens_;
    largest = std::max(largest, (network_gradients(expert_width_) + of_hidden) * routed_);
    // Unsharded sequences: a gradient before it is scattered, and the input regathered for the weight gradient of its
    // projection.
    const int wholes = sequence_cuts(layout_) == 1 ? 0 : conventions_.keeps_gathered_inputs ? 1 : 2;
    return largest + wholes * of_hidden * tokens_ +
           bytes_of({0, conventions_.stream_bytes * model_.hidden, 0}, layout_, tokens_);
  }

 private:
  /// Elements per token in the heads of one rank.
  struct Heads {
    std::int64_t query = 0;
    std::int64_t key = 0;
    std::int64_t value = 0;
    std::int64_t output = 0;
  };

  /// Returns the bytes kept outside the feed-forward network.
  PerToken around_network() const {
    PerToken kept = norm_bytes(model_, conventions_);  // before attention
    kept += norm_bytes(model_, conventions_);          // before the feed-forward network
    kept += model_.latent ? latent_attention(*model_.latent) : attention();
    kept.sequence += conventions_.dropout_masks * model_.hidden;
    kept.whole += adapters() * model_.adapter_rank * element_;
    return kept;
  }

  std::int64_t cut(std::int64_t size) const { return divided_up(size, layout_.tensor); }

  Heads heads_of_rank() const {
    const std::int64_t heads = cut(model_.heads);
    if (model_.latent) {
      const std::int64_t size = model_.latent->plain_size + model_.latent->rotary_size;
      return {heads * size, heads * size, heads * model_.latent->value_size, heads * model_.latent->value_size};
    }
    const std::int64_t key_value = cut(model_.key_value_heads) * model_.head_size;
    return {heads * model_.head_size, key_value, key_value, heads * model_.head_size};
  }

  std::int64_t log_sums() const { return 4 * cut(model_.heads); }

  PerToken attention() const {
    const std::int64_t projected = (heads_.query + heads_.key + heads_.value) * element_;
    PerToken kept;
    kept.tensor = projected * (conventions_.keeps_projections ? 2 : 1) + heads_.output * element_ + log_sums();
    if (model_.query_key_norm) kept.tensor += (heads_.query + heads_.key) * element_;
    return kept;
  }

  /// Returns the bytes kept by latent attention. Each compressed form is kept before and after its normalization (the
  /// rotary key has none). Expanded queries, keys and values are kept as inputs of attention, including the rotary
  /// part.
  PerToken latent_attention(const llm::LatentAttention& latent) const {
    PerToken kept;
    kept.sequence = (2 * latent.query_rank + 2 * latent.key_value_rank + latent.rotary_size) * element_;
    kept.tensor = (heads_.query + heads_.key + heads_.value + heads_.output) * element_ + log_sums();
    return kept;
  }

  /// Returns the bytes per token inside a network of this width per rank: its projections, their gate and product.
  std::int64_t network(std::int64_t width, bool keeps_product) const {
    const bool gated = model_.feed_forward == llm::FeedForward::gated;
    return ((gated ? 2 : 1) + (gated && conventions_.keeps_gate ? 1 : 0) + (keeps_product ? 1 : 0)) * width * element_;
  }

  /// Returns the number of projections with an adapter, which keeps the values between its two matrices. Experts are
  /// not counted.
  std::int64_t adapters() const {
    const int of_network = width_ == 0 ? 0 : model_.feed_forward == llm::FeedForward::gated ? 3 : 2;
    return (model_.latent && model_.latent->query_rank > 0 ? 5 : 4) + of_network;
  }

  /// Returns the gradient bytes per token of a network's projections and their product.
  std::int64_t network_gradients(std::int64_t width) const {
    return (model_.feed_forward == llm::FeedForward::gated ? 3 : 2) * width * element_;
  }

  /// Returns the gradient bytes per token of queries, keys, values and output. Flash attention sums those of queries in
  /// fp32.
  std::int64_t attention_gradients() const {
    return (heads_.query + heads_.key + heads_.value + heads_.output) * element_ + 4 * heads_.query;
  }

  const llm::Transformer& model_;
  const llm::Layout& layout_;
  const Conventions& conventions_;
  const std::int64_t element_;
  std::int64_t tokens_ = 0;
  std::int64_t routed_ = 0;
  std::int64_t width_ = 0;         // of the dense network or the shared experts, on this rank
  std::int64_t expert_width_ = 0;  // of a routed expert, on this rank
  Heads heads_;
};

}  // namespace

std::int64_t tokens_of_rank(const llm::Layout& layout, const TrainingShape& shape) {
  const std::int64_t tokens = shape.packed_tokens > 0 ? shape.packed_tokens : shape.sequence_length * shape.sequences;
  return divided_up(tokens, layout.context);
}

std::int64_t routed_tokens(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape) {
  const llm::Experts& experts = *model.experts;
  const std::int64_t own = divided_up(tokens_of_rank(layout, shape), sequence_cuts(layout)) * experts.active;
  if (shape.expert_capacity <= 0) return own * layout.expert_tensor;
  const double share = shape.expert_capacity * static_cast<double>(own) / static_cast<double>(experts.count);
  return static_cast<std::int64_t>(std::ceil(share)) * experts.count * layout.expert_tensor;
}

LayerMemory layer_memory(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape,
                         const Conventions& conventions, bool with_experts) {
  const LayerAccount account(model, layout, shape, conventions, with_experts);
  const std::int64_t whole = account.kept_whole();
  std::int64_t kept = whole;
  if (layout.recomputation == llm::Recomputation::full) kept = std::min(whole, account.kept_input());
  if (layout.recomputation == llm::Recomputation::experts && with_experts) kept = account.kept_around_network();
  if (layout.recomputation == llm::Recomputation::selective && conventions.keeps_every_second_product && !with_experts)
    kept = std::min(whole, account.kept_every_second_product());
  return {kept, account.gradients() + whole - kept};
}

std::int64_t padded_vocabulary(const llm::Transformer& model, const llm::Layout& layout,
                               const Conventions& conventions) {
  const std::int64_t multiple = conventions.vocabulary_multiple * layout.tensor;
  return divided_up(model.vocabulary, multiple) * multiple;
}

std::int64_t loss_bytes(const llm::Transformer& model, const llm::Layout& layout, const TrainingShape& shape,
                        const Conventions& conventions) {
  const std::int64_t tokens = tokens_of_rank(layout, shape);
  const std::int64_t inputs = bytes_of(norm_bytes(model, conventions), layout, tokens);
  if (model.head == llm::Head::scalar) return inputs;
  const bool is_cut = layout.tensor > 1 && conventions.parallel_logit_bytes > 0;
  const double each = is_cut ? conventions.parallel_logit_bytes : conventions.logit_bytes;
  const std::int64_t rows = padded_vocabulary(model, layout, conventions) / layout.tensor;
  const std::int64_t head_gradient = conventions.activation_bytes * rows * model.hidden;
  if (conventions.logit_entries > 0)
    return inputs + conventions.activation_bytes * tokens * std::min(rows, conventions.logit_entries) + head_gradient;
  if (conventions.logit_tokens > 0) {
    // One slice at a time, and the gradient of the head's weight, summed over slices.
    const auto held = static_cast<double>(rows * std::min(tokens, conventions.logit_tokens));
    return inputs + static_cast<std::int64_t>(std::ceil(each * held)) + head_gradient;
  }
  const auto at_loss = static_cast<std::int64_t>(std::ceil(each * static_cast<double>(rows * tokens)));
  // In the head's backward: the gradient of the logits, and the dummy gradient of the weight.
  const std::int64_t after =
      rows * (conventions.activation_bytes * tokens + conventions.dummy_gradient_bytes * model.hidden);
  return inputs + std::max(at_loss, after);
}

}  // namespace dovetail::cost
