#include "learn/advantages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

namespace dovetail::learn {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;

std::vector<double> draw(std::size_t count) {
  auto whole = *rc::gen::container<std::vector<int>>(count, rc::gen::inRange(-1000, 1000));
  std::vector<double> values;
  for (const int each : whole) values.push_back(each / 100.0);
  return values;
}

/// Equation 16 of the paper: the discounted sum of all later TD errors.
std::vector<double> by_definition(const std::vector<double>& rewards, const std::vector<double>& values,
                                  double bootstrap, double gamma, double lambda) {
  const std::size_t count = rewards.size();
  std::vector<double> advantages(count);
  for (std::size_t token = 0; token < count; ++token)
    for (std::size_t later = token; later < count; ++later) {
      const double next = later + 1 < count ? values[later + 1] : bootstrap;
      advantages[token] += std::pow(gamma * lambda, static_cast<double>(later - token)) *
                           (rewards[later] + gamma * next - values[later]);
    }
  return advantages;
}

RC_GTEST_PROP(EstimateAdvantages, IsTheSumOfLaterErrors, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(0, 12);
  const std::vector<double> rewards = draw(count);
  const std::vector<double> values = draw(count);
  const double bootstrap = draw(1)[0];
  const double gamma = *rc::gen::inRange(0, 101) / 100.0;
  const double lambda = *rc::gen::inRange(0, 101) / 100.0;
  const Advantages all = estimate_advantages(rewards, values, bootstrap, gamma, lambda);
  const std::vector<double> expected = by_definition(rewards, values, bootstrap, gamma, lambda);
  for (std::size_t token = 0; token < count; ++token) {
    RC_ASSERT(std::abs(all.advantages[token] - expected[token]) < 1e-9);
    RC_ASSERT(std::abs(all.returns[token] - expected[token] - values[token]) < 1e-9);
  }
}

TEST(EstimateAdvantages, WithoutDiscountIsReturnMinusValue) {
  const Advantages all =
      estimate_advantages(std::vector<double>{0, 0, 1}, std::vector<double>{0.5, 0.25, 0.75}, 0, 1, 1);
  EXPECT_THAT(all.returns, ElementsAre(1, 1, 1));
  EXPECT_THAT(all.advantages, ElementsAre(0.5, 0.75, 0.25));
}

TEST(EstimateAdvantages, BootstrapsTruncatedResponses) {
  const Advantages all = estimate_advantages(std::vector<double>{0, 0}, std::vector<double>{0, 0}, 3, 0.5, 1);
  EXPECT_THAT(all.returns, ElementsAre(0.75, 1.5));
}

TEST(TokenRewards, AreThePenaltyPlusTheFinalReward) {
  EXPECT_THAT(token_rewards(2, std::vector<double>{1, -1, 0.5}, 0.1, KlEstimator::k1),
              ElementsAre(DoubleNear(-0.1, 1e-15), DoubleNear(0.1, 1e-15), DoubleNear(1.95, 1e-15)));
}

TEST(GroupAdvantages, SubtractTheMean) {
  const std::vector<double> rewards{1, 0, 0, 1, 3};
  EXPECT_THAT(group_advantages(rewards, false), ElementsAre(0, -1, -1, 0, 2));
  const std::vector<double> scaled = group_advantages(rewards, true);
  EXPECT_NEAR(scaled[4], 2 / (std::sqrt(6 / 4.0) + 1e-6), 1e-12);
}

TEST(GroupAdvantages, AreZeroForEqualRewards) {
  for (const bool scaled : {false, true}) {
    EXPECT_THAT(group_advantages(std::vector<double>{0.1, 0.1, 0.1}, scaled), Each(0));
    EXPECT_THAT(group_advantages(std::vector<double>{7}, scaled), ElementsAre(0));
    EXPECT_TRUE(group_advantages(std::vector<double>{}, scaled).empty());
  }
}

RC_GTEST_PROP(GroupAdvantages, SumToZeroAndKeepTheOrder, ()) {
  const std::vector<double> rewards = draw(*rc::gen::inRange<std::size_t>(2, 10));
  for (const bool scaled : {false, true}) {
    const std::vector<double> advantages = group_advantages(rewards, scaled);
    RC_ASSERT(std::abs(std::accumulate(advantages.begin(), advantages.end(), 0.0)) < 1e-9);
    for (std::size_t index = 1; index < rewards.size(); ++index)
      RC_ASSERT((rewards[index] > rewards[0]) == (advantages[index] > advantages[0]));
  }
}

TEST(Whiten, GivesMeanZeroAndDeviationOne) {
  std::vector<std::vector<double>> parts{{1, 2, 3}, {}, {10}, {-4, 6}};
  std::vector<std::vector<double>> whole{{1, 2, 3, 10, -4, 6}};
  whiten(parts);
  whiten(whole);
  const Moments moments = moments_of(parts);
  EXPECT_NEAR(moments.mean, 0, 1e-12);
  EXPECT_NEAR(moments.deviation, 1, 1e-5);
  EXPECT_EQ(parts[2][0], whole[0][3]);
  std::vector<std::vector<double>> none{{}};
  whiten(none);
  std::vector<std::vector<double>> equal{{5, 5}};
  whiten(equal);
  EXPECT_THAT(equal[0], Each(0));
}

TEST(RunningMoments, AreNeutralBeforeTheFirstBatch) {
  const RunningMoments moments;
  EXPECT_EQ(moments.normalized(3), 3);
  EXPECT_EQ(moments.denormalized(3), 3);
}

TEST(RunningMoments, EqualTheMomentsOfASingleBatch) {
  for (const double decay : {0.0, 0.9, 0.99995}) {
    RunningMoments moments{.decay = decay};
    update(moments, std::vector<double>{1, 2, 3, 6});
    EXPECT_NEAR(moments.mean(), 3, 1e-9) << decay;
    EXPECT_NEAR(moments.deviation(), std::sqrt(3.5), 1e-6) << decay;
  }
}

TEST(RunningMoments, ForgetWithTheDecay) {
  RunningMoments moments{.decay = 0.5};
  update(moments, std::vector<double>{0});
  update(moments, std::vector<double>{});
  update(moments, std::vector<double>{3});
  EXPECT_NEAR(moments.mean(), 2, 1e-12) << "weights of a quarter and a half";
}

TEST(RunningMoments, DoNotAmplifyEqualValues) {
  RunningMoments moments;
  update(moments, std::vector<double>{1, 1});
  EXPECT_DOUBLE_EQ(moments.deviation(), 1e-2);
}

RC_GTEST_PROP(RunningMoments, RoundTrip, ()) {
  RunningMoments moments;
  for (int batch = 0; batch < 3; ++batch) {
    std::vector<double> values;
    for (const int each : *rc::gen::container<std::vector<int>>(rc::gen::inRange(-1000, 1000))) values.push_back(each);
    update(moments, values);
  }
  const double value = *rc::gen::inRange(-1000, 1000);
  RC_ASSERT(std::abs(moments.denormalized(moments.normalized(value)) - value) < 1e-8);
}

}  // namespace
}  // namespace dovetail::learn
