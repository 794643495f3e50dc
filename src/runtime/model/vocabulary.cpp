#include "runtime/model/vocabulary.h"

#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <utility>

namespace dovetail::runtime {
namespace {

constexpr std::int64_t max_logits = std::int64_t{1} << 27;

void append(std::vector<double>& values, const std::vector<double>& more) {
  values.insert(values.end(), more.begin(), more.end());
}

}  // namespace

template <class F>
void VocabularyPass::for_each_part(F f) const {
  const std::int64_t count = rows_.size(0);
  for (std::int64_t begin = 0; begin < count; begin += rows_at_once_) f(begin, std::min(rows_at_once_, count - begin));
}

VocabularyPass::VocabularyPass(const Linear& head, Tensor rows, std::span<const std::int64_t> targets,
                               double temperature)
    : head_(head),
      rows_(std::move(rows)),
      targets_(targets.begin(), targets.end()),
      temperature_(temperature),
      rows_at_once_(std::max<std::int64_t>(1, max_logits / head.weight->value.size(0))) {
  const Operators& ops = operators_for(rows_);
  for_each_part([&](std::int64_t begin, std::int64_t count) {
    const Tensor logits = logits_of(begin, count);
    const std::span<const std::int64_t> here =
        std::span(targets_).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
    const TokenScores scores = ops.score_tokens(logits, here, temperature_);
    append(scores_.log_probabilities, scores.log_probabilities);
    append(scores_.entropies, scores.entropies);
    append(scores_.log_sum_exps, scores.log_sum_exps);
    if (count == rows_.size(0)) kept_logits_ = logits;
  });
}

Tensor VocabularyPass::logits_of(std::int64_t begin, std::int64_t count) const {
  return project(head_, rows_.narrow(0, begin, count));
}

Tensor VocabularyPass::backward(std::span<const double> by_log_probability, std::span<const double> by_entropy,
                                GradientSink& sink) {
  const Operators& ops = operators_for(rows_);
  Tensor d_rows = at::empty_like(rows_);
  for_each_part([&](std::int64_t begin, std::int64_t count) {
    const auto here = [&](auto values) {
      return values.empty() ? values : values.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
    };
    const Tensor logits = kept_logits_.defined() ? std::exchange(kept_logits_, {}) : logits_of(begin, count);
    ops.score_backward(
        logits, temperature_,
        {here(std::span<const std::int64_t>(targets_)), here(std::span<const double>(scores_.entropies)),
         here(std::span<const double>(scores_.log_sum_exps)), here(by_log_probability), here(by_entropy)});
    sink.add_product(head_, rows_.narrow(0, begin, count), logits);
    d_rows.narrow(0, begin, count).copy_(project_backward(head_, logits));
  });
  return d_rows;
}

}  // namespace dovetail::runtime
