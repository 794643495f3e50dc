// Forward and backward pass of a micro-batch through a transformer or one of its pipeline stages.
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

/// Computes, for each row, the log-probability of its target and the entropy of its token distribution, and in the
/// backward pass the gradient with respect to the row. Logits are divided by the temperature. Rows are processed in
/// chunks of at most 2^27 logits (512 MiB in fp32). If one chunk holds all rows, its logits are kept for the backward
/// pass.
class VocabularyPass {
 public:
  /// `rows` is [tokens, hidden], after the final norm. `targets` has one token per row.
  VocabularyPass(const Linear& head, Tensor rows, std::span<const std::int64_t> targets, double temperature);

  const TokenScores& scores() const { return scores_; }
  /// Returns the gradient with respect to the rows, given the gradients of the loss with respect to each row's
  /// log-probability and entropy. An empty `by_entropy` means zeros. Adds the head's gradient to `sink`. Must be called
  /// at most once.
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

/// Sequences of a mini-batch that are computed together: all[id] for each id in `ids`. A pass needs at least one
/// sequence.
struct MicroBatch {
  std::span<const control::TokenSequence> all;
  std::span<const std::size_t> ids;
};

/// Rows of a micro-batch, one per token, without padding. The head is applied only to `logit_rows`.
struct PackedRows {
  Tensor tokens;  ///< [tokens]
  PassRows rows;
  Tensor logit_rows;                  ///< indexes of the rows that give the values of control::Scores
  std::vector<std::int64_t> targets;  ///< [logit row] next token; empty for a scalar head
  std::vector<std::size_t> counts;    ///< [sequence] number of its rows in `logit_rows`
};

/// A forward pass of one micro-batch, followed by at most one backward pass.
class MicroBatchPass {
 public:
  /// Activations kept for the backward pass. `inputs` keeps only each layer's input, from which the rest is recomputed.
  enum class KeptActivations { nothing, inputs, everything };

  /// `model` must outlive this object.
  MicroBatchPass(const Model& model, const MicroBatch& batch, double temperature);

  /// Returns the hidden rows after the last layer, [tokens, hidden]. `x` is the input of the first layer; it is ignored
  /// if the model has the embedding.
  Tensor forward(Tensor x, KeptActivations kept_activations);
  /// Returns the head's scores of each sequence, given the result of forward. REQUIRES: the model has the head.
  std::vector<control::Scores> score(const Tensor& last);

  /// Returns the gradient with respect to the result of forward, given the gradient with respect to the scores.
  Tensor score_backward(const std::vector<control::ScoreSlopes>& slopes, GradientSink& sink);
  /// Returns the gradient with respect to the input of the first layer, given the gradient with respect to the result
  /// of forward.
  Tensor backward(Tensor dy, GradientSink& sink);

  std::int64_t tokens() const { return packed_.tokens.size(0); }

 private:
  Tensor values_backward(const std::vector<double>& by_value, GradientSink& sink) const;

  const Model& model_;
  double temperature_;
  PackedRows packed_;
  std::vector<LayerActivations> kept_;  // [layer]
  Tensor logit_rows_;
  Tensor rows_;  // logit_rows_ after the final norm
  std::optional<VocabularyPass> vocabulary_;
};

MicroBatchPass::KeptActivations kept_activations_of(llm::Recomputation recomputation);

/// Returns the scores of each sequence. REQUIRES: `model` is a whole model.
std::vector<control::Scores> score(const Model& model, const MicroBatch& batch, double temperature);

/// Runs the forward pass, `loss` and the backward pass of a micro-batch, and adds to the gradients of all trainable
/// weights. `loss` returns the gradient with respect to the scores. REQUIRES: `model` is a whole model.
void add_gradients(const Model& model, const MicroBatch& batch, double temperature, llm::Recomputation recomputation,
                   const std::function<std::vector<control::ScoreSlopes>(
                       std::span<const std::size_t> ids, std::span<const control::Scores> scores)>& loss);

}  // namespace dovetail::runtime
