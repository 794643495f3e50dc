// The end of a language model: from the last hidden rows to the log-probabilities of tokens, and back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/model/gradient_sink.h"
#include "runtime/model/ops.h"
#include "runtime/model/tensor.h"

namespace dovetail::runtime {

/// The rows' distributions over the vocabulary, under logits over the temperature. Logits of so many rows are there at
/// once that they stay below 256 MB; where that is all of them they are kept for the backward.
class VocabularyPass {
 public:
  /// `rows`: [tokens, hidden], normalized.
  VocabularyPass(const Linear& head, Tensor rows, std::span<const std::int64_t> targets, double temperature);

  const TokenScores& scores() const { return scores_; }
  /// The derivative by the rows, given that by each log-probability and entropy (empty: 0). That by the head goes to
  /// `sink`. It can be asked once.
  Tensor backward(std::span<const double> by_log_probability, std::span<const double> by_entropy, GradientSink& sink);

 private:
  Tensor logits_of(std::int64_t begin, std::int64_t count) const;
  /// Calls f(first row, rows) for as many rows as are handled at once, again and again.
  template <class F>
  void for_each_part(F f) const;

  Linear head_;
  Tensor rows_;
  std::vector<std::int64_t> targets_;
  double temperature_;
  std::int64_t rows_at_once_;
  Tensor kept_logits_;  // of all rows, or undefined
  TokenScores scores_;
};

}  // namespace dovetail::runtime
