// A micro-batch on its way through a transformer, or through a stage of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "control/models.h"
#include "llm/layout.h"
#include "runtime/model/gradient_sink.h"
#include "runtime/model/model.h"
#include "runtime/model/vocabulary.h"

namespace dovetail::runtime {

/// Some of a mini-batch's sequences, computed together: those in the places `ids` of `all`. At least one.
struct MicroBatch {
  std::span<const control::TokenSequence> all;
  std::span<const std::size_t> ids;
};

/// The packed rows of a micro-batch, and which of them say something of a scored token.
struct PackedRows {
  Tensor tokens;  ///< [tokens]
  PassRows rows;
  Tensor looked_at;                   ///< rows whose outputs are looked at, sequence by sequence
  std::vector<std::int64_t> targets;  ///< of a language model: the token behind each of them
  std::vector<std::size_t> counts;    ///< of each sequence so many of them
};

/// Forward once, then at most once backward.
class MicroBatchPass {
 public:
  /// What the backward finds of the forward. With `inputs` it computes each layer again from what went into it.
  enum class Keeping { nothing, inputs, everything };

  /// `model` must stay.
  MicroBatchPass(const Model& model, const MicroBatch& batch, double temperature);

  /// The hidden rows behind the model's last layer, [tokens, hidden]. `x`: those before its first; not looked at where
  /// it has the embedding.
  Tensor forward(Tensor x, Keeping keeping);
  /// What the head says of each sequence, as control::Scores has it, given what forward gave. REQUIRES: it has one.
  std::vector<control::Scores> score(const Tensor& last);

  /// The derivative by what forward gave, given those by what score gave.
  Tensor score_backward(const std::vector<control::ScoreSlopes>& slopes, GradientSink& sink);
  /// The derivative by what went into forward, given that by what it gave.
  Tensor backward(Tensor dy, GradientSink& sink);

  std::int64_t tokens() const { return packed_.tokens.size(0); }

 private:
  Tensor values_backward(const std::vector<double>& by_value, GradientSink& sink) const;

  const Model& model_;
  double temperature_;
  PackedRows packed_;
  std::vector<LayerKept> kept_;  // [layer]
  Tensor looked_at_;
  Tensor rows_;  // those, normalized
  std::optional<VocabularyPass> vocabulary_;
};

MicroBatchPass::Keeping keeping_of(llm::Recomputation recomputation);

/// What a whole model says of each sequence of the micro-batch.
std::vector<control::Scores> score(const Model& model, const MicroBatch& batch, double temperature);

/// Forward, `loss`, and backward of a micro-batch of a whole model: adds to the gradients of all weights that are
/// trained.
void add_gradients(const Model& model, const MicroBatch& batch, double temperature, llm::Recomputation recomputation,
                   const std::function<std::vector<control::ScoreSlopes>(
                       std::span<const std::size_t> ids, std::span<const control::Scores> scores)>& loss);

}  // namespace dovetail::runtime
