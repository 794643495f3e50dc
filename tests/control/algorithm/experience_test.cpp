#include "control/algorithm/experience.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace dovetail::control {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

/// Returns a response with this many tokens, all equally likely under the policy, in group `group`.
Sample sample_of(std::size_t tokens, double reward, std::int64_t group = 0, bool ended = true) {
  Sample sample;
  sample.group = group;
  sample.sequence.tokens.assign(tokens + 1, 1);
  sample.is_sampled = true;
  sample.ended = ended;
  sample.reward = reward;
  sample.sampled.assign(tokens, -1);
  return sample;
}

Sample with_values(Sample sample, std::vector<double> values) {
  sample.values = std::move(values);
  return sample;
}

LossSettings plain() {
  LossSettings loss;
  loss.advantage = AdvantageScale::none;
  loss.value_norm = Norm::none;
  return loss;
}

TEST(Settle, RewardsAreNormalizedThenClippedThenPenalized) {
  LossSettings loss = plain();
  loss.reward_clip = 1;
  loss.no_eos = -0.5;
  loss.length_penalty = 2;
  std::vector<Sample> samples{sample_of(2, 5), sample_of(4, -0.25, 1, false)};
  Scales scales;
  compute_advantages(samples, loss, 8, scales);
  EXPECT_DOUBLE_EQ(samples[0].shaped_reward, 1 - 2 * 2.0 / 8);
  EXPECT_DOUBLE_EQ(samples[1].shaped_reward, -0.25 - 0.5 - 2 * 4.0 / 8);
  EXPECT_EQ(samples[0].reward, 5) << "the judged reward is kept";
  EXPECT_EQ(scales.rewards.weight, 0);

  loss = plain();
  loss.reward_norm = Norm::running;
  compute_advantages(samples, loss, 8, scales);
  // After one batch the running moments are the batch's: mean 2.375, deviation 2.625.
  EXPECT_DOUBLE_EQ(samples[0].shaped_reward, 1);
  EXPECT_DOUBLE_EQ(samples[1].shaped_reward, -1);
  EXPECT_GT(scales.rewards.weight, 0);
}

TEST(Settle, ATruncatedResponseUsesItsValueInsteadOfItsReward) {
  LossSettings loss = plain();
  loss.lambda = 1;
  loss.no_eos = -0.5;
  std::vector<Sample> samples{with_values(sample_of(2, 3), {0.5, 1, 7}),
                              with_values(sample_of(2, 3, 1, false), {0.5, 1, 7})};
  Scales scales;
  compute_advantages(samples, loss, 8, scales);
  EXPECT_THAT(samples[0].targets, ElementsAre(3, 3));
  EXPECT_THAT(samples[0].advantages, ElementsAre(2.5, 2));
  EXPECT_THAT(samples[1].targets, ElementsAre(6.5, 6.5)) << "7 - 0.5; the judged 3 is ignored";
}

TEST(Settle, ACorrectCriticStaysCorrectIfAllAreTruncated) {
  std::vector<Sample> samples{with_values(sample_of(1, 1, 0, false), {4, 4})};
  Scales scales;
  compute_advantages(samples, plain(), 1, scales);
  EXPECT_THAT(samples[0].targets, ElementsAre(4));
}

TEST(Settle, TheKlPenaltyIsPerTokenAndOnlyInTheReward) {
  LossSettings loss = plain();
  loss.gamma = 0.5;
  loss.lambda = 0;
  std::vector<Sample> samples{with_values(sample_of(2, 3), {0, 0, 0})};
  samples[0].reference = {-2, -0.5};
  Scales scales{.rewards = {}, .returns = {}, .kl_coefficient = 0.1};
  compute_advantages(samples, loss, 8, scales);
  EXPECT_THAT(samples[0].advantages, Pointwise(DoubleNear(1e-12), {-0.1, 3 + 0.05}));
  samples[0].policy = {-2, -0.5};  // the trainer's take precedence over the engine's
  compute_advantages(samples, loss, 8, scales);
  EXPECT_THAT(samples[0].advantages, Pointwise(DoubleNear(1e-12), {0.0, 3.0}));
  samples[0].policy.clear();
  loss.kl.in = KlPlace::loss;
  compute_advantages(samples, loss, 8, scales);
  EXPECT_THAT(samples[0].advantages, Pointwise(DoubleNear(1e-12), {0.0, 3.0}));
}

TEST(Settle, ValuesUseThePreviousScale) {
  LossSettings loss = plain();
  loss.value_norm = Norm::running;
  loss.lambda = 0;
  std::vector<Sample> samples{with_values(sample_of(1, 10), {0.5, 0}), with_values(sample_of(1, 20, 1), {0.5, 0})};
  Scales scales;
  scales.returns = {.decay = 0.5, .mean_sum = 6, .square_sum = 45, .weight = 1};  // mean 6, deviation 3
  compute_advantages(samples, loss, 8, scales);
  EXPECT_THAT(samples[0].advantages, ElementsAre(10 - 7.5));
  EXPECT_THAT(samples[1].advantages, ElementsAre(20 - 7.5));
  // The returns are 10 and 20: the mean becomes (6 + 15) / 2, the mean square (45 + 250) / 2.
  const double mean = 10.5;
  const double deviation = std::sqrt(147.5 - mean * mean);
  EXPECT_DOUBLE_EQ(samples[0].targets[0], (10 - mean) / deviation);
  EXPECT_DOUBLE_EQ(samples[1].targets[0], (20 - mean) / deviation);
}

TEST(Settle, AdvantagesOfTokensAreWhitenedOverBatchOrGroup) {
  LossSettings loss = plain();
  const auto settled = [&](AdvantageScale scale) {
    loss.advantage = scale;
    std::vector<Sample> samples{with_values(sample_of(2, 1), {0, 0, 0}), with_values(sample_of(1, 3), {0, 0}),
                                with_values(sample_of(1, 9, 1), {0, 0}), with_values(sample_of(1, 5, 1), {0, 0})};
    Scales scales;
    compute_advantages(samples, loss, 8, scales);
    return samples;
  };
  for (const AdvantageScale scale : {AdvantageScale::batch, AdvantageScale::group}) {
    const std::vector<Sample> samples = settled(scale);
    for (const std::int64_t group : {0, 1}) {
      double sum = 0;
      double squares = 0;
      double count = 0;
      for (const Sample& sample : samples)
        if (scale == AdvantageScale::batch || sample.group == group)
          for (const double advantage : sample.advantages) {
            sum += advantage;
            squares += advantage * advantage;
            ++count;
          }
      EXPECT_NEAR(sum, 0, 1e-9);
      EXPECT_NEAR(squares / count, 1, 1e-4);
    }
  }
  EXPECT_LT(settled(AdvantageScale::batch)[1].advantages[0], 0);
  EXPECT_GT(settled(AdvantageScale::group)[1].advantages[0], 0);
}

TEST(Settle, WithoutValuesRewardsAreRelativeToTheGroup) {
  const auto advantages_of = [](AdvantageScale scale) {
    LossSettings loss = plain();
    loss.advantage = scale;
    std::vector<Sample> samples{sample_of(1, 1), sample_of(2, 1), sample_of(9, 0, 1), sample_of(1, 1, 1)};
    Scales scales;
    compute_advantages(samples, loss, 9, scales);
    std::vector<double> advantages;
    for (const Sample& sample : samples) {
      EXPECT_EQ(sample.advantages, std::vector<double>(sample.sequence.scored(), sample.advantages[0]));
      advantages.push_back(sample.advantages[0]);
    }
    return advantages;
  };
  EXPECT_THAT(advantages_of(AdvantageScale::none), ElementsAre(0, 0, -0.5, 0.5));
  EXPECT_THAT(advantages_of(AdvantageScale::group),
              Pointwise(DoubleNear(1e-5), {0.0, 0.0, -std::sqrt(0.5), std::sqrt(0.5)}));
  // Over responses, whatever their lengths: -0.5 and 0.5 among zeros.
  EXPECT_THAT(advantages_of(AdvantageScale::batch),
              Pointwise(DoubleNear(1e-4), {0.0, 0.0, -std::sqrt(2.0), std::sqrt(2.0)}));
}

TEST(Divergence, IsPerTokenAndPerResponse) {
  std::vector<Sample> samples{sample_of(2, 0), sample_of(1, 0)};
  EXPECT_FALSE(divergence_of(samples).has_value());
  samples[0].reference = {-2, -1.5};
  samples[1].reference = {-0.25};
  const Divergence divergence = divergence_of(samples).value();
  EXPECT_DOUBLE_EQ(divergence.k1_token, (1 + 0.5 - 0.75) / 3);
  EXPECT_DOUBLE_EQ(divergence.k1_sequence, (1 + 0.5 - 0.75) / 2);
  const double k3 = std::exp(-1) + std::exp(-0.5) - 0.5 + std::exp(0.75) - 0.75 - 1;
  EXPECT_DOUBLE_EQ(divergence.k3_token, k3 / 3);
  EXPECT_DOUBLE_EQ(divergence.k3_sequence, k3 / 2);
  Scales scales{.rewards = {}, .returns = {}, .kl_coefficient = 0.1};
  KlSettings kl;
  follow_divergence(samples, kl, scales);
  EXPECT_EQ(scales.kl_coefficient, 0.1) << "unchanged without a target";
  kl.target = 1;
  kl.horizon = 10;
  follow_divergence(samples, kl, scales);
  EXPECT_DOUBLE_EQ(scales.kl_coefficient, 0.1 * (1 - 0.2 * 2 / 10));
}

}  // namespace
}  // namespace dovetail::control
