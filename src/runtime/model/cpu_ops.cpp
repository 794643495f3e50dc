#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include <vector>

#include "kernels/rows.h"
#include "kernels/sequence_attention.h"
#include "runtime/model/device.h"
#include "runtime/model/ops.h"

namespace dovetail::runtime {
namespace {
namespace by_kernels {

/// Calls f with a value of x's element type.
template <class F>
void with_numbers(const Tensor& x, F f) {
  if (x.scalar_type() == at::kDouble)
    f(double{});
  else
    f(float{});
}

Tensor project(const Linear& linear, const Tensor& x) {
  const Tensor in = x.contiguous();
  const Tensor& weight = linear.weight->value;
  Tensor out = at::empty({in.size(0), weight.size(0)}, in.options());
  with_numbers(in, [&]<class Number>(Number) {
    const Number* const bias = linear.bias == nullptr ? nullptr : linear.bias->value.data_ptr<Number>();
    const kernels::LinearOf<Number> product{
        in.data_ptr<Number>(), weight.data_ptr<Number>(), bias, out.data_ptr<Number>(), in.size(0), in.size(1),
        weight.size(0)};
    share_out(weight.size(0), in.size(0) * weight.numel(),
              [&](std::int64_t begin, std::int64_t end) { kernels::multiply(product, begin, end); });
  });
  return out;
}

Tensor normalize(const Tensor& x, const Parameter& scale, double epsilon) {
  const Tensor in = x.contiguous();
  Tensor out = at::empty_like(in);
  const std::int64_t size = scale.value.numel();
  with_numbers(in, [&]<class Number>(Number) {
    share_out(in.numel() / size, in.numel(), [&](std::int64_t begin, std::int64_t end) {
      kernels::normalize(in.data_ptr<Number>() + begin * size, scale.value.data_ptr<Number>(), end - begin, size,
                         epsilon, out.data_ptr<Number>() + begin * size);
    });
  });
  return out;
}

NormalizeBackward normalize_backward(const Tensor& x, const Parameter& scale, double epsilon, const Tensor& dy) {
  const Tensor in = x.contiguous();
  const Tensor slopes = dy.contiguous();
  NormalizeBackward by{at::empty_like(in), {}};
  if (scale.gradient.defined()) by.scale = at::zeros_like(scale.value);
  const std::int64_t size = scale.value.numel();
  const std::int64_t rows = in.numel() / size;
  with_numbers(in, [&]<class Number>(Number) {
    std::vector<Number> roots(static_cast<std::size_t>(rows));
    const Number* const from = in.data_ptr<Number>();
    const Number* const slope = slopes.data_ptr<Number>();
    share_out(rows, in.numel(), [&](std::int64_t begin, std::int64_t end) {
      kernels::reciprocal_roots(from + begin * size, end - begin, size, epsilon, roots.data() + begin);
      kernels::normalize_backward(from + begin * size, scale.value.data_ptr<Number>(), roots.data() + begin,
                                  slope + begin * size, end - begin, size, by.input.data_ptr<Number>() + begin * size);
    });
    if (!by.scale.defined()) return;
    share_out(size, in.numel(), [&](std::int64_t begin, std::int64_t end) {
      kernels::add_scale_gradient(from, roots.data(), slope, rows, size, begin, end, by.scale.data_ptr<Number>());
    });
  });
  return by;
}

Tensor turned(const Tensor& x, const Angles& angles, kernels::RotationDirection turn) {
  Tensor out = x.clone(at::MemoryFormat::Contiguous);
  with_numbers(out, [&]<class Number>(Number) {
    const kernels::RotaryRows<Number> rows{out.data_ptr<Number>(),
                                           out.size(1) * out.size(2),
                                           out.size(1),
                                           out.size(2),
                                           nullptr,
                                           angles.cosines.data_ptr<Number>(),
                                           angles.sines.data_ptr<Number>()};
    share_out(out.size(0), out.numel(),
              [&](std::int64_t begin, std::int64_t end) { kernels::rotate(rows, begin, end, turn); });
  });
  return out;
}

Tensor rotate(const Tensor& x, const Angles& angles) { return turned(x, angles, kernels::RotationDirection::forward); }

Tensor rotate_backward(const Tensor& dy, const Angles& angles) {
  return turned(dy, angles, kernels::RotationDirection::backward);
}

Tensor gated(const Tensor& gate, const Tensor& up) {
  Tensor out = at::empty_like(gate);
  with_numbers(gate, [&]<class Number>(Number) {
    share_out(gate.numel(), gate.numel(), [&](std::int64_t begin, std::int64_t end) {
      kernels::gate(gate.data_ptr<Number>() + begin, up.data_ptr<Number>() + begin, end - begin,
                    out.data_ptr<Number>() + begin);
    });
  });
  return out;
}

GatedBackward gated_backward(const Tensor& gate, const Tensor& up, const Tensor& dy) {
  GatedBackward slopes{at::empty_like(gate), at::empty_like(up)};
  with_numbers(gate, [&]<class Number>(Number) {
    share_out(gate.numel(), gate.numel(), [&](std::int64_t begin, std::int64_t end) {
      kernels::gate_backward(gate.data_ptr<Number>() + begin, up.data_ptr<Number>() + begin,
                             dy.data_ptr<Number>() + begin, end - begin, slopes.gate.data_ptr<Number>() + begin,
                             slopes.up.data_ptr<Number>() + begin);
    });
  });
  return slopes;
}

/// Rows [tokens, heads, size] without gaps, starting at token `begin`.
template <class Number>
kernels::Heads<Number> heads_of(const Tensor& x, std::int64_t begin) {
  const std::int64_t stride = x.size(1) * x.size(2);
  return {x.data_ptr<std::remove_const_t<Number>>() + begin * stride, stride};
}

/// One sequence of packed rows.
template <class Number>
kernels::Sequence<Number> sequence_of(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t begin,
                                      std::int64_t end) {
  return {heads_of<const Number>(query, begin), heads_of<const Number>(key, begin),
          heads_of<const Number>(value, begin), end - begin,
          query.size(1) / key.size(1),          query.size(2)};
}

/// Calls f(first token, end token, head) for each sequence and key-value head, in parallel.
template <class F>
void for_each_head(const Tensor& query, const Tensor& key, std::span<const std::int64_t> offsets, F f) {
  const std::int64_t heads = key.size(1);
  const auto sequences = static_cast<std::int64_t>(offsets.size()) - 1;
  std::int64_t work = 0;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    work += (offsets[i + 1] - offsets[i]) * (offsets[i + 1] - offsets[i]) * query.size(1) * query.size(2);
  share_out(sequences * heads, work, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto sequence = static_cast<std::size_t>(i / heads);
      f(offsets[sequence], offsets[sequence + 1], i % heads);
    }
  });
}

Attention attend(const Tensor& query, const Tensor& key, const Tensor& value, std::span<const std::int64_t> offsets) {
  Attention attention{at::empty_like(query), at::empty({query.size(1), query.size(0)}, query.options())};
  with_numbers(query, [&]<class Number>(Number) {
    for_each_head(query, key, offsets, [&](std::int64_t begin, std::int64_t end, std::int64_t head) {
      static thread_local std::vector<Number> scratch;
      const kernels::HeadNumbers<Number> sums{attention.log_sum_exps.data_ptr<Number>() + begin, query.size(0)};
      kernels::attend(sequence_of<Number>(query, key, value, begin, end), head, head + 1,
                      heads_of<Number>(attention.out, begin), sums, scratch);
    });
  });
  return attention;
}

AttentionBackward attend_backward(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const Attention& attention, std::span<const std::int64_t> offsets, const Tensor& dy) {
  AttentionBackward slopes{at::empty_like(query), at::empty_like(key), at::empty_like(value)};
  with_numbers(query, [&]<class Number>(Number) {
    for_each_head(query, key, offsets, [&](std::int64_t begin, std::int64_t end, std::int64_t head) {
      static thread_local std::vector<Number> scratch;
      const kernels::AttentionResult<Number> result{heads_of<const Number>(attention.out, begin),
                                                    {attention.log_sum_exps.data_ptr<Number>() + begin, query.size(0)},
                                                    heads_of<const Number>(dy, begin)};
      kernels::attend_backward(sequence_of<Number>(query, key, value, begin, end), result, head, head + 1,
                               {heads_of<Number>(slopes.query, begin), heads_of<Number>(slopes.key, begin),
                                heads_of<Number>(slopes.value, begin)},
                               scratch);
    });
  });
  return slopes;
}

/// Calls f for each row of logits, in parallel.
template <class F>
void for_each_row(const Tensor& logits, F f) {
  with_numbers(logits, [&]<class Number>(Number) {
    const std::int64_t size = logits.size(1);
    share_out(logits.size(0), logits.numel(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        f(logits.data_ptr<Number>() + row * size, size, static_cast<std::size_t>(row));
    });
  });
}

TokenScores score_tokens(const Tensor& logits, std::span<const std::int64_t> targets, double temperature) {
  const std::size_t rows = targets.size();
  TokenScores scores{std::vector<double>(rows), std::vector<double>(rows), std::vector<double>(rows)};
  for_each_row(logits, [&](const auto* row, std::int64_t size, std::size_t i) {
    const kernels::TokenDistribution distribution = kernels::distribution_of(row, size, temperature);
    scores.log_probabilities[i] = kernels::log_probability(distribution, row, temperature, targets[i]);
    scores.entropies[i] = distribution.entropy;
    scores.log_sum_exps[i] = distribution.log_sum_exp;
  });
  return scores;
}

void score_backward(const Tensor& logits, double temperature, const TokenSlopes& slopes) {
  for_each_row(logits, [&](auto* row, std::int64_t size, std::size_t i) {
    const double by_entropy = slopes.by_entropy.empty() ? 0 : slopes.by_entropy[i];
    kernels::distribution_backward(row, size, temperature, {slopes.log_sum_exps[i], slopes.entropies[i]},
                                   {slopes.targets[i], slopes.by_log_probability[i], by_entropy});
  });
}

}  // namespace by_kernels
}  // namespace

const Operators& cpu_operators() {
  static constexpr Operators all{
      by_kernels::project,         by_kernels::normalize,    by_kernels::normalize_backward, by_kernels::rotate,
      by_kernels::rotate_backward, by_kernels::gated,        by_kernels::gated_backward,     by_kernels::attend,
      by_kernels::attend_backward, by_kernels::score_tokens, by_kernels::score_backward};
  return all;
}

}  // namespace dovetail::runtime
