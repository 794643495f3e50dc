#include "runtime/model/micro_batch_pass.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace dovetail::runtime {
namespace {

constexpr std::int64_t max_logits = std::int64_t{1} << 27;

void append(std::vector<double>& values, const std::vector<double>& more) {
  values.insert(values.end(), more.begin(), more.end());
}

using control::Scores;
using control::ScoreSlopes;

PackedRows pack(const Model& model, const MicroBatch& batch) {
  PackedRows packed;
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> positions;
  std::vector<std::int64_t> looked_at;
  const bool scalar = model.weights.shape.head == llm::Head::scalar;
  packed.rows.offsets.push_back(0);
  for (const std::size_t id : batch.ids) {
    const control::TokenSequence& sequence = batch.all[id];
    const std::size_t count = sequence.tokens.size();
    DOVETAIL_ASSERT(sequence.first_scored >= 1 && sequence.first_scored < count);
    const auto begin = static_cast<std::int64_t>(tokens.size());
    for (std::size_t i = 0; i < count; ++i) {
      tokens.push_back(sequence.tokens[i]);
      positions.push_back(static_cast<std::int64_t>(i));
    }
    const std::size_t end = scalar ? count : count - 1;
    for (std::size_t i = sequence.first_scored - 1; i < end; ++i) {
      looked_at.push_back(begin + static_cast<std::int64_t>(i));
      if (!scalar) packed.targets.push_back(sequence.tokens[i + 1]);
    }
    packed.counts.push_back(end - (sequence.first_scored - 1));
    packed.rows.offsets.push_back(static_cast<std::int64_t>(tokens.size()));
  }
  const Tensor& weight = model.weights.parameters.front().value;
  packed.tokens = integer_tensor(tokens, weight.device());
  packed.logit_rows = integer_tensor(looked_at, weight.device());
  packed.rows.ops = &operators_for(weight);
  packed.rows.head_size = model.weights.shape.head_size;
  packed.rows.norm_epsilon = model.weights.computation.norm_epsilon;
  packed.rows.angles = angles_of(model.weights.computation, model.weights.shape.head_size, positions, weight.options());
  return packed;
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

MicroBatchPass::MicroBatchPass(const Model& model, const MicroBatch& batch, double temperature)
    : model_(model), temperature_(temperature), packed_(pack(model, batch)) {}

Tensor MicroBatchPass::forward(Tensor x, KeptActivations kept_activations) {
  if (model_.embedding != nullptr) x = model_.embedding->value.index_select(0, packed_.tokens);
  if (kept_activations != KeptActivations::nothing) kept_.resize(model_.layers.size());
  for (std::size_t index = 0; index < model_.layers.size(); ++index) {
    if (kept_activations != KeptActivations::nothing) kept_[index].input = x;
    x = runtime::forward(model_.layers[index], packed_.rows, x,
                         kept_activations == KeptActivations::everything ? &kept_[index] : nullptr);
  }
  return x;
}

std::vector<Scores> MicroBatchPass::score(const Tensor& last) {
  logit_rows_ = last.index_select(0, packed_.logit_rows);
  rows_ = packed_.rows.ops->normalize(logit_rows_, *model_.final_norm, packed_.rows.norm_epsilon);
  std::vector<double> values;
  if (model_.weights.shape.head == llm::Head::language_model) {
    vocabulary_.emplace(model_.head, rows_, packed_.targets, temperature_);
  } else {
    const Tensor outputs = project(model_.head, rows_).to(at::kCPU, at::kDouble).contiguous();
    values.assign(outputs.data_ptr<double>(), outputs.data_ptr<double>() + outputs.numel());
  }
  std::vector<Scores> all;
  std::size_t begin = 0;
  for (const std::size_t count : packed_.counts) {
    const auto cut = [&](const std::vector<double>& of_rows) {
      const auto first = of_rows.begin() + static_cast<std::ptrdiff_t>(begin);
      return std::vector<double>(first, first + static_cast<std::ptrdiff_t>(count));
    };
    if (vocabulary_)
      all.push_back({cut(vocabulary_->scores().log_probabilities), cut(vocabulary_->scores().entropies)});
    else
      all.push_back({cut(values), {}});
    begin += count;
  }
  return all;
}

Tensor MicroBatchPass::score_backward(const std::vector<ScoreSlopes>& slopes, GradientSink& sink) {
  DOVETAIL_ASSERT(slopes.size() == packed_.counts.size());
  std::vector<double> by_value;
  std::vector<double> by_entropy;
  bool has_entropy = false;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    DOVETAIL_ASSERT(slopes[i].values.size() == packed_.counts[i]);
    has_entropy = has_entropy || !slopes[i].entropies.empty();
    by_value.insert(by_value.end(), slopes[i].values.begin(), slopes[i].values.end());
    by_entropy.insert(by_entropy.end(), slopes[i].entropies.begin(), slopes[i].entropies.end());
    by_entropy.resize(by_value.size(), 0);
  }
  if (!has_entropy) by_entropy.clear();
  const Tensor d_rows =
      vocabulary_ ? vocabulary_->backward(by_value, by_entropy, sink) : values_backward(by_value, sink);
  NormalizeBackward norm =
      packed_.rows.ops->normalize_backward(logit_rows_, *model_.final_norm, packed_.rows.norm_epsilon, d_rows);
  if (norm.scale.defined()) sink.add(*model_.final_norm, norm.scale);
  Tensor d_last = at::zeros({packed_.tokens.size(0), logit_rows_.size(1)}, logit_rows_.options());
  d_last.index_copy_(0, packed_.logit_rows, norm.input);
  return d_last;
}

Tensor MicroBatchPass::values_backward(const std::vector<double>& by_value, GradientSink& sink) const {
  const Tensor slopes = at::tensor(at::ArrayRef<double>(by_value), at::kDouble).to(rows_.options()).view({-1, 1});
  sink.add_product(model_.head, rows_, slopes);
  return project_backward(model_.head, slopes);
}

Tensor MicroBatchPass::backward(Tensor dy, GradientSink& sink) {
  for (std::size_t index = model_.layers.size(); index-- > 0;) {
    dy = runtime::backward(model_.layers[index], packed_.rows, kept_[index], dy, sink);
    kept_[index] = {};
  }
  if (model_.embedding != nullptr) sink.add_rows(*model_.embedding, packed_.tokens, dy);
  return dy;
}

MicroBatchPass::KeptActivations kept_activations_of(llm::Recomputation recomputation) {
  return recomputation == llm::Recomputation::full ? MicroBatchPass::KeptActivations::inputs
                                                   : MicroBatchPass::KeptActivations::everything;
}

std::vector<Scores> score(const Model& model, const MicroBatch& batch, double temperature) {
  MicroBatchPass pass(model, batch, temperature);
  return pass.score(pass.forward({}, MicroBatchPass::KeptActivations::nothing));
}

void add_gradients(const Model& model, const MicroBatch& batch, double temperature, llm::Recomputation recomputation,
                   const std::function<std::vector<ScoreSlopes>(std::span<const std::size_t> ids,
                                                                std::span<const Scores> scores)>& loss) {
  MicroBatchPass pass(model, batch, temperature);
  const std::vector<ScoreSlopes> slopes =
      loss(batch.ids, pass.score(pass.forward({}, kept_activations_of(recomputation))));
  GradientSink sink;
  pass.backward(pass.score_backward(slopes, sink), sink);
}

}  // namespace dovetail::runtime
