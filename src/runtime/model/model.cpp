#include "runtime/model/model.h"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <optional>
#include <utility>

#include "base/assert.h"
#include "runtime/model/vocabulary.h"

namespace dovetail::runtime {
namespace {

using control::Scores;
using control::ScoreSlopes;

/// The packed rows of a micro-batch, and which of them say something of a scored token.
struct PackedBatch {
  Tensor tokens;  ///< [tokens]
  PassRows rows;
  Tensor looked_at;                   ///< rows whose outputs are looked at, sequence by sequence
  std::vector<std::int64_t> targets;  ///< of a language model: the token behind each of them
  std::vector<std::size_t> counts;    ///< of each sequence so many of them
};

PackedBatch pack(const Model& model, const MicroBatch& batch) {
  PackedBatch packed;
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
  const Tensor& weight = model.embedding->value;
  packed.tokens = whole_numbers(tokens, weight.device());
  packed.looked_at = whole_numbers(looked_at, weight.device());
  packed.rows.ops = &operators_for(weight);
  packed.rows.head_size = model.weights.shape.head_size;
  packed.rows.norm_epsilon = model.weights.computation.norm_epsilon;
  packed.rows.angles = angles_of(model.weights.computation, model.weights.shape.head_size, positions, weight.options());
  return packed;
}

/// The hidden rows behind the last layer; what backwards need of each layer in `kept` where it is given.
Tensor through_layers(const Model& model, const PackedBatch& packed, std::vector<LayerKept>* kept,
                      llm::Recomputation recomputation) {
  Tensor x = model.embedding->value.index_select(0, packed.tokens);
  for (std::size_t index = 0; index < model.layers.size(); ++index) {
    const bool keeps_all = kept != nullptr && recomputation != llm::Recomputation::full;
    if (kept != nullptr) (*kept)[index].input = x;
    x = forward(model.layers[index], packed.rows, x, keeps_all ? &(*kept)[index] : nullptr);
  }
  return x;
}

void layers_backward(const Model& model, const PackedBatch& packed, std::vector<LayerKept>& kept, Tensor dy) {
  for (std::size_t index = model.layers.size(); index-- > 0;) {
    dy = backward(model.layers[index], packed.rows, kept[index], dy);
    kept[index] = {};
  }
  if (model.embedding->gradient.defined()) model.embedding->gradient.index_add_(0, packed.tokens, dy);
}

/// The end of a pass: one number of each row that is looked at, and back.
class HeadPass {
 public:
  HeadPass(const Model& model, const PackedBatch& packed, Tensor last, double temperature)
      : model_(model), packed_(packed), last_(std::move(last)) {
    looked_at_ = last_.index_select(0, packed.looked_at);
    rows_ = packed.rows.ops->normalize(looked_at_, *model.final_norm, packed.rows.norm_epsilon);
    if (model.weights.shape.head == llm::Head::language_model) {
      vocabulary_.emplace(model.head, rows_, packed.targets, temperature);
      return;
    }
    const Tensor values = project(model.head, rows_).to(at::kCPU, at::kDouble).contiguous();
    values_.assign(values.data_ptr<double>(), values.data_ptr<double>() + values.numel());
  }

  std::vector<Scores> scores() const {
    std::vector<Scores> all;
    std::size_t begin = 0;
    for (const std::size_t count : packed_.counts) {
      const auto cut = [&](const std::vector<double>& values) {
        const auto first = values.begin() + static_cast<std::ptrdiff_t>(begin);
        return std::vector<double>(first, first + static_cast<std::ptrdiff_t>(count));
      };
      if (vocabulary_)
        all.push_back({cut(vocabulary_->scores().log_probabilities), cut(vocabulary_->scores().entropies)});
      else
        all.push_back({cut(values_), {}});
      begin += count;
    }
    return all;
  }

  /// The derivative by the last layer's output.
  Tensor backward(const std::vector<ScoreSlopes>& slopes) {
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
    const Tensor d_rows = vocabulary_ ? vocabulary_->backward(by_value, by_entropy) : values_backward(by_value);
    Tensor d_last = at::zeros(last_.sizes(), last_.options());
    d_last.index_copy_(
        0, packed_.looked_at,
        packed_.rows.ops->normalize_backward(looked_at_, *model_.final_norm, packed_.rows.norm_epsilon, d_rows));
    return d_last;
  }

 private:
  Tensor values_backward(const std::vector<double>& by_value) const {
    const Tensor slopes = at::tensor(at::ArrayRef<double>(by_value), at::kDouble).to(rows_.options()).view({-1, 1});
    add_weight_gradient(model_.head, rows_, slopes);
    return project_backward(model_.head, slopes);
  }

  const Model& model_;
  const PackedBatch& packed_;
  Tensor last_;
  Tensor looked_at_;
  Tensor rows_;  // those, normalized
  std::optional<VocabularyPass> vocabulary_;
  std::vector<double> values_;
};

}  // namespace

Model::Model(Weights weights_of_it) : weights(std::move(weights_of_it)) {
  embedding = &weights.find("model.embed_tokens.weight");
  for (std::int64_t index = 0; index < weights.shape.layers; ++index) layers.push_back(layer_of(weights, index));
  final_norm = &weights.find("model.norm.weight");
  head.weight = &weights.parameters.back();
}

std::vector<Scores> score(const Model& model, const MicroBatch& batch, double temperature) {
  const PackedBatch packed = pack(model, batch);
  return HeadPass(model, packed, through_layers(model, packed, nullptr, llm::Recomputation::none), temperature)
      .scores();
}

void add_gradients(const Model& model, const MicroBatch& batch, double temperature, llm::Recomputation recomputation,
                   const control::MicroBatchLoss& loss) {
  const PackedBatch packed = pack(model, batch);
  std::vector<LayerKept> kept(model.layers.size());
  HeadPass head(model, packed, through_layers(model, packed, &kept, recomputation), temperature);
  const std::vector<ScoreSlopes> slopes = loss(batch.ids, head.scores());
  DOVETAIL_ASSERT(slopes.size() == batch.ids.size());
  layers_backward(model, packed, kept, head.backward(slopes));
}

}  // namespace dovetail::runtime
