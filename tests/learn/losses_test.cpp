#include "learn/losses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

namespace dovetail::learn {
namespace {

double number() { return *rc::gen::inRange(-3000, 3000) / 1000.0; }

void expect_slope(const std::function<Loss(double)>& loss, double at) {
  constexpr double step = 1e-6;
  // Next to a kink the slopes on both sides differ.
  const double before = (loss(at).value - loss(at - step).value) / step;
  const double after = (loss(at + step).value - loss(at).value) / step;
  if (std::abs(after - before) > 1e-3) RC_DISCARD("a kink");
  const double slope = (before + after) / 2;
  RC_ASSERT(std::abs(slope - loss(at).slope) <= 1e-4 * (1 + std::abs(slope)));
}

RC_GTEST_PROP(Losses, SlopesMatchFiniteDifferences, ()) {
  const double old = number();
  const double other = number();
  expect_slope([&](double at) { return policy_loss(at, old, other, {0.2, 0.3}, 0.7).loss; }, old + number() / 5);
  expect_slope([&](double at) { return value_loss(at, old, other, std::nullopt); }, number());
  expect_slope([&](double at) { return value_loss(at, old, other, 0.2); }, number());
  expect_slope([&](double at) { return kl_loss(KlEstimator::k3, at, old, 0.1); }, number());
  expect_slope([&](double at) { return preference_loss(at); }, 5 * number());
}

TEST(PolicyLoss, IsClippedInTheDirectionOfTheAdvantage) {
  const auto at_ratio = [](double ratio, double advantage) {
    return policy_loss(std::log(ratio), 0, advantage, {0.2, 0.3});
  };
  EXPECT_DOUBLE_EQ(at_ratio(1, 2).loss.value, -2);
  EXPECT_DOUBLE_EQ(at_ratio(1, 2).loss.slope, -2);
  EXPECT_NEAR(at_ratio(1.5, 2).loss.value, -2.6, 1e-12);
  EXPECT_EQ(at_ratio(1.5, 2).loss.slope, 0);
  EXPECT_TRUE(at_ratio(1.5, 2).clipped);
  EXPECT_FALSE(at_ratio(1.25, 2).clipped);
  EXPECT_FALSE(at_ratio(0.5, 2).clipped) << "it may come back";
  EXPECT_NEAR(at_ratio(0.5, -2).loss.value, 1.6, 1e-12);
  EXPECT_TRUE(at_ratio(0.5, -2).clipped);
  EXPECT_FALSE(at_ratio(1.5, -2).clipped);
  EXPECT_NEAR(at_ratio(1.5, -2).ratio, 1.5, 1e-12);
}

TEST(ValueLoss, IsTheLargerOfFreeAndClipped) {
  EXPECT_DOUBLE_EQ(value_loss(3, 0, 1, std::nullopt).value, 2);
  // The value is beyond the return and the clipped value is not: the loss of the value is larger.
  EXPECT_DOUBLE_EQ(value_loss(3, 0, 1, 0.5).value, 2);
  EXPECT_DOUBLE_EQ(value_loss(3, 0, 1, 0.5).slope, 2);
  // The value moves towards the return: the clipped loss is larger.
  EXPECT_DOUBLE_EQ(value_loss(2, 0, 4, 0.5).value, 3.5 * 3.5 / 2);
  EXPECT_EQ(value_loss(2, 0, 4, 0.5).slope, 0);
  EXPECT_DOUBLE_EQ(value_loss(0.25, 0, 4, 0.5).slope, -3.75);
}

TEST(TruncatedImportance, IsTheRatioUpToTheCap) {
  EXPECT_EQ(truncated_importance(-1, -3, std::nullopt), 1);
  EXPECT_DOUBLE_EQ(truncated_importance(-1, -1.5, 2), std::exp(0.5));
  EXPECT_EQ(truncated_importance(-1, -3, 2), 2);
}

TEST(PreferenceLoss, IsFiniteForAnyMargin) {
  EXPECT_DOUBLE_EQ(preference_loss(0).value, std::log(2));
  EXPECT_DOUBLE_EQ(preference_loss(0).slope, -0.5);
  EXPECT_DOUBLE_EQ(preference_loss(-5000).value, 5000);
  EXPECT_DOUBLE_EQ(preference_loss(-5000).slope, -1);
  EXPECT_EQ(preference_loss(5000).value, 0);
  EXPECT_EQ(preference_loss(5000).slope, 0);
}

constexpr KlEstimator all[] = {KlEstimator::k1, KlEstimator::k2, KlEstimator::k3};

TEST(Kl, EstimatorsMatchTheirDefinition) {
  EXPECT_DOUBLE_EQ(kl_of(KlEstimator::k1, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(kl_of(KlEstimator::k2, 0.5), 0.125);
  EXPECT_DOUBLE_EQ(kl_of(KlEstimator::k3, 0.5), std::exp(-0.5) - 1 + 0.5);
  for (const KlEstimator estimator : all) EXPECT_EQ(kl_of(estimator, 0), 0);
}

TEST(Kl, MeansOfK1AndK3EqualTheDivergence) {
  const std::vector<double> policy{0.5, 0.3, 0.2};
  const std::vector<double> reference{0.2, 0.2, 0.6};
  double divergence = 0;
  double k1 = 0;
  double k3 = 0;
  for (std::size_t token = 0; token < policy.size(); ++token) {
    const double log_ratio = std::log(policy[token] / reference[token]);
    divergence += policy[token] * log_ratio;
    k1 += policy[token] * kl_of(KlEstimator::k1, log_ratio);
    k3 += policy[token] * kl_of(KlEstimator::k3, log_ratio);
  }
  EXPECT_NEAR(k1, divergence, 1e-15);
  EXPECT_NEAR(k3, divergence, 1e-15);
}

RC_GTEST_PROP(Kl, SlopesMatchFiniteDifferences, ()) {
  const double log_ratio = *rc::gen::inRange(-5000, 5000) / 1000.0;
  constexpr double step = 1e-6;
  for (const KlEstimator estimator : all) {
    const double slope = (kl_of(estimator, log_ratio + step) - kl_of(estimator, log_ratio - step)) / (2 * step);
    RC_ASSERT(std::abs(slope - kl_slope(estimator, log_ratio)) <= 1e-6 * (1 + std::abs(slope)));
    if (estimator != KlEstimator::k1) RC_ASSERT(kl_of(estimator, log_ratio) >= 0);
  }
}

TEST(AdaptiveKl, MovesByAtMostAFifthPerHorizon) {
  AdaptiveKl control{.coefficient = 1, .target = 2, .horizon = 100};
  update(control, 2, 50);
  EXPECT_DOUBLE_EQ(control.coefficient, 1);
  update(control, 2.2, 50);
  EXPECT_DOUBLE_EQ(control.coefficient, 1.05);
  update(control, 100, 50);
  EXPECT_DOUBLE_EQ(control.coefficient, 1.05 * 1.1);
  update(control, 0, 100);
  EXPECT_DOUBLE_EQ(control.coefficient, 1.05 * 1.1 * 0.8);
  update(control, 0, 1'000'000);
  EXPECT_EQ(control.coefficient, 0);
}

using testing::DoubleEq;
using testing::ElementsAre;

TEST(TokenWeights, FollowTheWeighing) {
  const std::vector<std::int64_t> lengths{1, 3, 0, 4};
  EXPECT_THAT(token_weights(TokenWeighting::tokens, lengths, 10),
              ElementsAre(DoubleEq(1 / 8.0), DoubleEq(1 / 8.0), 0, DoubleEq(1 / 8.0)));
  EXPECT_THAT(token_weights(TokenWeighting::sequences, lengths, 10),
              ElementsAre(DoubleEq(1 / 3.0), DoubleEq(1 / 9.0), 0, DoubleEq(1 / 12.0)));
  EXPECT_THAT(token_weights(TokenWeighting::constant, lengths, 10),
              ElementsAre(DoubleEq(1 / 30.0), DoubleEq(1 / 30.0), 0, DoubleEq(1 / 30.0)));
}

RC_GTEST_PROP(TokenWeights, SumToOne, ()) {
  const auto lengths =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 50)));
  for (const TokenWeighting weighing : {TokenWeighting::tokens, TokenWeighting::sequences}) {
    const std::vector<double> weights = token_weights(weighing, lengths, 50);
    double sum = 0;
    for (std::size_t index = 0; index < lengths.size(); ++index)
      sum += weights[index] * static_cast<double>(lengths[index]);
    RC_ASSERT(std::abs(sum - 1) < 1e-12);
  }
}

}  // namespace
}  // namespace dovetail::learn
