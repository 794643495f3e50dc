#include "runtime/model/vocabulary.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <utility>

namespace dovetail::runtime {
namespace {

constexpr std::int64_t max_logits = std::int64_t{1} << 26;

Tensor column(std::span<const double> values, at::TensorOptions options) {
  return at::tensor(at::ArrayRef<double>(values.data(), values.size()), at::kDouble).to(options).view({-1, 1});
}

void append(std::vector<double>& values, const Tensor& more) {
  const Tensor on_host = more.to(at::kCPU, at::kDouble).contiguous();
  const double* const data = on_host.data_ptr<double>();
  values.insert(values.end(), data, data + on_host.numel());
}

}  // namespace

VocabularyPass::VocabularyPass(const Linear& head, Tensor rows, std::span<const std::int64_t> targets,
                               double temperature)
    : head_(head),
      rows_(std::move(rows)),
      targets_(targets.begin(), targets.end()),
      temperature_(temperature),
      rows_at_once_(std::max<std::int64_t>(1, max_logits / head.weight->value.size(0))) {
  const std::int64_t count = rows_.size(0);
  for (std::int64_t begin = 0; begin < count; begin += rows_at_once_) {
    const std::int64_t rows_here = std::min(rows_at_once_, count - begin);
    const Tensor logits = logits_of(begin, rows_here);
    const Tensor sums = logits.logsumexp({-1});
    const Tensor of_targets =
        at::tensor(at::ArrayRef<std::int64_t>(targets_.data() + begin, static_cast<std::size_t>(rows_here)))
            .to(logits.device())
            .view({-1, 1});
    const Tensor logs = logits.sub(sums.view({-1, 1}));
    append(scores_.log_probabilities, logs.gather(1, of_targets));
    append(scores_.entropies, logs.exp().mul_(logs).sum(-1).neg_());
    append(log_sum_exps_, sums);
    if (rows_here == count) kept_logits_ = logits;
  }
}

Tensor VocabularyPass::logits_of(std::int64_t begin, std::int64_t count) const {
  const Tensor logits = project(head_, rows_.narrow(0, begin, count));
  return temperature_ == 1 ? logits : logits.div(temperature_);
}

Tensor VocabularyPass::backward(std::span<const double> by_log_probability, std::span<const double> by_entropy) {
  Tensor d_rows = at::empty_like(rows_);
  const std::int64_t count = rows_.size(0);
  for (std::int64_t begin = 0; begin < count; begin += rows_at_once_) {
    const std::int64_t rows_here = std::min(rows_at_once_, count - begin);
    const auto here = [&](std::span<const double> values) {
      return column(values.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(rows_here)),
                    rows_.options());
    };
    Tensor logs = kept_logits_.defined() ? std::exchange(kept_logits_, {}) : logits_of(begin, rows_here);
    logs.sub_(here(log_sum_exps_));
    const Tensor shares = logs.exp();
    // d log p_t = onehot - p; d H = -p (log p + H).
    Tensor slopes = shares.mul(here(by_log_probability)).neg_();
    if (!by_entropy.empty()) slopes.sub_(logs.add_(here(scores_.entropies)).mul_(shares).mul_(here(by_entropy)));
    const Tensor of_targets =
        at::tensor(at::ArrayRef<std::int64_t>(targets_.data() + begin, static_cast<std::size_t>(rows_here)))
            .to(slopes.device())
            .view({-1, 1});
    slopes.scatter_add_(1, of_targets, here(by_log_probability));
    if (temperature_ != 1) slopes.div_(temperature_);
    add_weight_gradient(head_, rows_.narrow(0, begin, rows_here), slopes);
    d_rows.narrow(0, begin, rows_here).copy_(project_backward(head_, slopes));
  }
  return d_rows;
}

}  // namespace dovetail::runtime
