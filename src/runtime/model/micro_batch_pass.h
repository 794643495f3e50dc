// Pass of a micro-batch through a transformer or one pipeline stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "control/models.h"
#include "llm/layout.h"
#include "runtime/model/model.h"
#include "runtime/model/ops.h"
#include "runtime/model/tensor.h"

namespace dovetail::runtime {

/// Distributions over the vocabulary, one per row, from logits divided by the temperature. Rows are processed in chunks
/// so that the logits stay below 256 MB per chunk. If one chunk holds all rows, its logits are kept for the backward
/// pass.
class VocabularyPass {
 public:
  /// `rows`: [tokens, hidden], normalized.
  VocabularyPass(const Linear& head, Tensor rows, std::span<const std::int64_t> targets, double temperature);

  const TokenScores& scores() const { return scores_; }
  /// Returns the gradient with respect to the rows, given the gradients with respect to each log-probability and
  /// entropy (empty: 0). The head's gradient goes to `sink`. Callable once.
  Tensor backward(std::span<const double> by_log_probability, std::span<const double> by_entropy, GradientSink& sink);

 private:
  Tensor logits_of(std::int64_t begin, std::int64_t count) const;
  /// Calls f(first row, number of rows) for each chunk.
  template <class F>
  void for_each_part(F f) const;

  Linear head_;
  Tensor rows_;
  std::vector<std::int64_t> targets_;
  double temperature_;
  std::int64_t rows_at_once_;
  Tensor kept_logits_;  // logits of all rows, or undefined
  TokenScores scores_;
};

/// Sequences of a mini-batch that are computed together: all[id] for each of `ids`. Not empty.
struct MicroBatch {
  std::span<const control::TokenSequence> all;
  std::span<const std::size_t> ids;
};

/// Packed rows of a micro-batch, and the rows that predict scored tokens.
struct PackedRows {
  Tensor tokens;  ///< [tokens]
  PassRows rows;
  Tensor logit_rows;                  ///< rows that predict scored tokens, by sequence
  std::vector<std::int64_t> targets;  ///< token that follows each of these rows; only for a language model
  std::vector<std::size_t> counts;    ///< number of these rows per sequence
};

/// One forward pass, then at most one backward pass.
class MicroBatchPass {
 public:
  /// Activations kept for the backward pass. With `inputs`, each layer is recomputed from its input.
  enum class KeptActivations { nothing, inputs, everything };

  /// `model` must outlive this object.
  MicroBatchPass(const Model& model, const MicroBatch& batch, double temperature);

  /// Returns the hidden rows after the last layer, [tokens, hidden]. `x` holds the rows before the first layer; ignored
  /// if the model has the embedding.
  Tensor forward(Tensor x, KeptActivations kept_activations);
  /// Returns the head's scores of each sequence, given the result of forward. REQUIRES: the model has the head.
  std::vector<control::Scores> score(const Tensor& last);

  /// Returns the gradient with respect to the result of forward, given the gradient with respect to the scores.
  Tensor score_backward(const std::vector<control::ScoreSlopes>& slopes, GradientSink& sink);
  /// Returns the gradient with respect to the input of forward, given the gradient with respect to its result.
  Tensor backward(Tensor dy, GradientSink& sink);

  std::int64_t tokens() const { return packed_.tokens.size(0); }

 private:
  Tensor values_backward(const std::vector<double>& by_value, GradientSink& sink) const;

  const Model& model_;
  double temperature_;
  PackedRows packed_;
  std::vector<LayerActivations> kept_;  // [layer]
  Tensor logit_rows_;
  Tensor rows_;  // the same rows, normalized
  std::optional<VocabularyPass> vocabulary_;
};

MicroBatchPass::KeptActivations kept_activations_of(llm::Recomputation recomputation);

/// Returns a whole model's scores of each sequence.
std::vector<control::Scores> score(const Model& model, const MicroBatch& batch, double temperature);

/// Runs forward, `loss` and backward of a micro-batch on a whole model. Adds to the gradients of all trainable weights.
void add_gradients(const Model& model, const MicroBatch& batch, double temperature, llm::Recomputation recomputation,
                   const std::function<std::vector<control::ScoreSlopes>(
                       std::span<const std::size_t> ids, std::span<const control::Scores> scores)>& loss);

}  // namespace dovetail::runtime
