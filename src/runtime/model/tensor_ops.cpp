#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tensor.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/model/ops.h"

namespace dovetail::runtime {
namespace {
namespace by_tensors {

Tensor project(const Linear& linear, const Tensor& x) {
  Tensor product = x.mm(linear.weight->value.t());
  return linear.bias != nullptr ? product.add_(linear.bias->value) : product;
}

Tensor reciprocal_root(const Tensor& x, double epsilon) { return at::rsqrt(x.square().mean({-1}, true).add(epsilon)); }

Tensor normalize(const Tensor& x, const Parameter& scale, double epsilon) {
  return x.mul(reciprocal_root(x, epsilon)).mul_(scale.value);
}

NormalizeBackward normalize_backward(const Tensor& x, const Parameter& scale, double epsilon, const Tensor& dy) {
  const Tensor root = reciprocal_root(x, epsilon);
  const Tensor normal = x.mul(root);
  NormalizeBackward slopes;
  if (scale.gradient.defined()) slopes.scale = dy.mul(normal).reshape({-1, scale.value.numel()}).sum(0);
  const Tensor scaled = dy.mul(scale.value);
  const Tensor along = scaled.mul(normal).mean({-1}, true);
  slopes.input = scaled.sub_(normal.mul(along)).mul_(root);
  return slopes;
}

/// Returns [tokens, 1, size / 2], to broadcast over the heads of a token.
Tensor for_heads(const Tensor& angles) { return angles.view({angles.size(0), 1, angles.size(1)}); }

Tensor turned(const Tensor& x, const Tensor& cosines, const Tensor& sines) {
  const std::int64_t half = x.size(-1) / 2;
  const Tensor first = x.narrow(-1, 0, half);
  const Tensor second = x.narrow(-1, half, half);
  return at::cat({first.mul(cosines).sub_(second.mul(sines)), second.mul(cosines).add_(first.mul(sines))}, -1);
}

Tensor rotate(const Tensor& x, const Angles& angles) {
  return turned(x, for_heads(angles.cosines), for_heads(angles.sines));
}

Tensor rotate_backward(const Tensor& dy, const Angles& angles) {
  return turned(dy, for_heads(angles.cosines), for_heads(angles.sines.neg()));
}

Tensor gated(const Tensor& gate, const Tensor& up) { return at::silu(gate).mul_(up); }

GatedBackward gated_backward(const Tensor& gate, const Tensor& up, const Tensor& dy) {
  const Tensor share = at::sigmoid(gate);
  const Tensor slope = share.mul(share.neg().add_(1).mul_(gate).add_(1));
  return {dy.mul(up).mul_(slope), dy.mul(share).mul_(gate)};
}

/// Attention heads of one sequence, grouped by key-value head.
struct SequenceView {
  std::int64_t begin = 0;
  std::int64_t tokens = 0;
  std::int64_t key_value_heads = 0;
  std::int64_t group = 0;

  /// Returns [key-value heads, group, tokens, size] from [tokens, heads, size].
  Tensor by_head(const Tensor& x) const {
    const Tensor rows = x.narrow(0, begin, tokens);
    const std::int64_t shared = rows.size(1) / key_value_heads;
    return rows.reshape({tokens, key_value_heads, shared, rows.size(2)}).permute({1, 2, 0, 3});
  }
  /// Inverse of by_head: writes the sequence's rows of `out`.
  void put(const Tensor& out, const Tensor& by_head) const {
    const Tensor rows = out.narrow(0, begin, tokens);
    rows.copy_(by_head.permute({2, 0, 1, 3}).reshape(rows.sizes()));
  }
};

Tensor masked_scores(const Tensor& query, const Tensor& key, double scale) {
  Tensor scores = at::matmul(query, key.transpose(-1, -2)).mul_(scale);
  const std::int64_t tokens = scores.size(-1);
  const Tensor later = at::empty({tokens, tokens}, scores.options()).fill_(1).triu_(1).to(at::kBool);
  return scores.masked_fill_(later, -std::numeric_limits<double>::infinity());
}

template <class Visit>
void for_each_sequence(const Tensor& query, const Tensor& key, std::span<const std::int64_t> offsets, Visit visit) {
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    visit(SequenceView{offsets[i], offsets[i + 1] - offsets[i], key.size(1), query.size(1) / key.size(1)});
}

double score_scale(const Tensor& query) { return 1 / std::sqrt(static_cast<double>(query.size(2))); }

Attention attend(const Tensor& query, const Tensor& key, const Tensor& value, std::span<const std::int64_t> offsets) {
  Attention attention{at::empty_like(query), at::empty({query.size(1), query.size(0)}, query.options())};
  for_each_sequence(query, key, offsets, [&](const SequenceView& sequence) {
    const Tensor scores = masked_scores(sequence.by_head(query), sequence.by_head(key), score_scale(query));
    const Tensor sums = scores.logsumexp({-1}, true);
    attention.log_sum_exps.narrow(1, sequence.begin, sequence.tokens).copy_(sums.reshape({-1, sequence.tokens}));
    sequence.put(attention.out, at::matmul(scores.sub(sums).exp_(), sequence.by_head(value)));
  });
  return attention;
}

AttentionBackward attend_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const Attention& attention, std::span<const std::int64_t> offsets, const Tensor& dy) {
  AttentionBackward result{at::empty_like(query), at::empty_like(key), at::empty_like(value)};
  const double scale = score_scale(query);
  for_each_sequence(query, key, offsets, [&](const SequenceView& sequence) {
    const Tensor queries = sequence.by_head(query);
    const Tensor keys = sequence.by_head(key);
    const Tensor sums = attention.log_sum_exps.narrow(1, sequence.begin, sequence.tokens)
                            .reshape({sequence.key_value_heads, sequence.group, sequence.tokens, 1});
    const Tensor shares = masked_scores(queries, keys, scale).sub_(sums).exp_();
    const Tensor slopes = sequence.by_head(dy);
    const Tensor along = slopes.mul(sequence.by_head(attention.out)).sum({-1}, true);
    const Tensor of_scores =
        at::matmul(slopes, sequence.by_head(value).transpose(-1, -2)).sub_(along).mul_(shares).mul_(scale);
    sequence.put(result.query, at::matmul(of_scores, keys));
    sequence.put(result.key, at::matmul(of_scores.transpose(-1, -2), queries).sum({1}, true));
    sequence.put(result.value, at::matmul(shares.transpose(-1, -2), slopes).sum({1}, true));
  });
  return result;
}

Tensor column(std::span<const double> values, at::TensorOptions options) {
  return at::tensor(at::ArrayRef<double>(values.data(), values.size()), at::kDouble).to(options).view({-1, 1});
}

Tensor column(std::span<const std::int64_t> values, const at::Device& device) {
  return at::tensor(at::ArrayRef<std::int64_t>(values.data(), values.size())).to(device).view({-1, 1});
}

std::vector<double> numbers_of(const Tensor& x) {
  const Tensor on_host = x.to(at::kCPU, at::kDouble).contiguous();
  return {on_host.data_ptr<double>(), on_host.data_ptr<double>() + on_host.numel()};
}

TokenScores score_tokens(const Tensor& logits, std::span<const std::int64_t> targets, double temperature) {
  const Tensor scaled = logits.div(temperature);
  const Tensor sums = scaled.logsumexp({-1});
  const Tensor logs = scaled.sub_(sums.view({-1, 1}));
  const Tensor chosen = logs.gather(1, column(targets, logits.device()));
  return {numbers_of(chosen), numbers_of(logs.exp().mul_(logs).sum(-1).neg_()), numbers_of(sums)};
}

void score_backward(const Tensor& logits, double temperature, const TokenSlopes& slopes) {
  const at::TensorOptions options = logits.options();
  const Tensor logs = logits.div(temperature).sub_(column(slopes.log_sum_exps, options));
  const Tensor shares = logs.exp();
  const Tensor by_log = column(slopes.by_log_probability, options);
  // d log p_t = onehot - p; d H = -p (log p + H).
  logits.copy_(shares.mul(by_log).neg_());
  if (!slopes.by_entropy.empty())
    logits.sub_(logs.add_(column(slopes.entropies, options)).mul_(shares).mul_(column(slopes.by_entropy, options)));
  logits.scatter_add_(1, column(slopes.targets, logits.device()), by_log);
  logits.div_(temperature);
}

}  // namespace by_tensors
}  // namespace

const Operators& tensor_operators() {
  static constexpr Operators all{
      by_tensors::project,         by_tensors::normalize,    by_tensors::normalize_backward, by_tensors::rotate,
      by_tensors::rotate_backward, by_tensors::gated,        by_tensors::gated_backward,     by_tensors::attend,
      by_tensors::attend_backward, by_tensors::score_tokens, by_tensors::score_backward};
  return all;
}

}  // namespace dovetail::runtime
