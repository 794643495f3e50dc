#include "runtime/model/micro_batch_pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "runtime/tiny_model.h"

namespace dovetail::runtime {
namespace {

using control::Scores;
using control::ScoreSlopes;
using control::TokenSequence;

std::vector<TokenSequence> random_sequences(std::size_t count, std::uint64_t seed) {
  base::Random random(seed, 5);
  std::vector<TokenSequence> sequences(count);
  for (TokenSequence& sequence : sequences) {
    const std::size_t tokens = 2 + random.below(9);
    for (std::size_t i = 0; i < tokens; ++i) sequence.tokens.push_back(static_cast<std::int32_t>(random.below(11)));
    sequence.first_scored = 1 + random.below(static_cast<std::uint32_t>(tokens - 1));
  }
  return sequences;
}

/// Loss with a different weight for each score, and its gradient.
double weight_of(std::size_t sequence, std::size_t token) {
  return std::sin(static_cast<double>(7 * sequence + 3 * token + 1));
}

double loss_of(std::span<const std::size_t> ids, std::span<const Scores> scores) {
  double loss = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t t = 0; t < scores[i].values.size(); ++t)
      loss += weight_of(ids[i], t) * scores[i].values[t] * scores[i].values[t];
    for (std::size_t t = 0; t < scores[i].entropies.size(); ++t)
      loss += weight_of(ids[i], t + 100) * scores[i].entropies[t];
  }
  return loss;
}

std::vector<ScoreSlopes> slopes_of(std::span<const std::size_t> ids, std::span<const Scores> scores) {
  std::vector<ScoreSlopes> slopes(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t t = 0; t < scores[i].values.size(); ++t)
      slopes[i].values.push_back(2 * weight_of(ids[i], t) * scores[i].values[t]);
    for (std::size_t t = 0; t < scores[i].entropies.size(); ++t)
      slopes[i].entropies.push_back(weight_of(ids[i], t + 100));
  }
  return slopes;
}

std::vector<std::size_t> all_of(const std::vector<TokenSequence>& sequences) {
  std::vector<std::size_t> ids(sequences.size());
  std::iota(ids.begin(), ids.end(), 0U);
  return ids;
}

/// Returns the derivative with respect to one number, by central differences.
double slope_by(double& number, const Model& model, const MicroBatch& batch, double temperature) {
  constexpr double step = 1e-5;
  const double there = number;
  number = there + step;
  const double above = loss_of(batch.ids, score(model, batch, temperature));
  number = there - step;
  const double below = loss_of(batch.ids, score(model, batch, temperature));
  number = there;
  return (above - below) / (2 * step);
}

class Models : public testing::TestWithParam<TinyShape> {};

TEST_P(Models, GradientsAreSlopesOfTheLoss) {
  Model model = tiny_model(GetParam(), 3);
  const std::vector<TokenSequence> sequences = random_sequences(4, 9);
  const std::vector<std::size_t> ids = all_of(sequences);
  const MicroBatch batch{sequences, ids};
  add_gradients(model, batch, 1.7, llm::Recomputation::none, slopes_of);
  base::Random random(1, 1);
  for (const Parameter& parameter : model.weights.parameters) {
    if (parameter.is.tied) continue;
    const Tensor& tied = model.head.weight->gradient;
    const Tensor gradient = GetParam().tied && parameter.is.position == llm::TensorPosition::embedding
                                ? parameter.gradient.add(tied)
                                : parameter.gradient;
    for (int draw = 0; draw < 6; ++draw) {
      const auto at = random.below(static_cast<std::uint32_t>(parameter.value.numel()));
      const double expected = slope_by(parameter.value.data_ptr<double>()[at], model, batch, 1.7);
      EXPECT_NEAR(gradient.data_ptr<double>()[at], expected, 1e-6 * (1 + std::abs(expected))) << parameter.is.name;
    }
  }
}

TEST_P(Models, PackedRowsMatchSingleSequences) {
  const Model model = tiny_model(GetParam(), 4);
  const std::vector<TokenSequence> sequences = random_sequences(7, 2);
  const std::vector<Scores> together = score(model, {sequences, all_of(sequences)}, 1);
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const std::vector<std::size_t> only{i};
    const Scores alone = score(model, {sequences, only}, 1).front();
    EXPECT_THAT(together[i].values, testing::Pointwise(testing::DoubleNear(1e-12), alone.values));
    EXPECT_THAT(together[i].entropies, testing::Pointwise(testing::DoubleNear(1e-12), alone.entropies));
  }
}

TEST_P(Models, RecomputationGivesTheSameBits) {
  Model kept = tiny_model(GetParam(), 5);
  Model recomputed = tiny_model(GetParam(), 5);
  const std::vector<TokenSequence> sequences = random_sequences(5, 6);
  const std::vector<std::size_t> ids = all_of(sequences);
  add_gradients(kept, {sequences, ids}, 1, llm::Recomputation::none, slopes_of);
  add_gradients(recomputed, {sequences, ids}, 1, llm::Recomputation::full, slopes_of);
  for (std::size_t i = 0; i < kept.weights.parameters.size(); ++i)
    EXPECT_TRUE(kept.weights.parameters[i].gradient.equal(recomputed.weights.parameters[i].gradient));
}

INSTANTIATE_TEST_SUITE_P(Shapes, Models,
                         testing::Values(TinyShape{}, TinyShape{.tied = true}, TinyShape{.bias = true},
                                         TinyShape{.head_norms = true}, TinyShape{.head = llm::Head::scalar}));

}  // namespace
}  // namespace dovetail::runtime
