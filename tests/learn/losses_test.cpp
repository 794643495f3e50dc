#include "learn/losses.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>

namespace dovetail::learn {
namespace {

double number() { return *rc::gen::inRange(-3000, 3000) / 1000.0; }

void expect_slope(const std::function<Loss(double)>& loss, double at) {
  constexpr double step = 1e-6;
  // Next to a corner both sides have slopes of their own.
  const double before = (loss(at).value - loss(at - step).value) / step;
  const double after = (loss(at + step).value - loss(at).value) / step;
  if (std::abs(after - before) > 1e-3) RC_DISCARD("a corner");
  const double slope = (before + after) / 2;
  RC_ASSERT(std::abs(slope - loss(at).slope) <= 1e-4 * (1 + std::abs(slope)));
}

RC_GTEST_PROP(Losses, SlopesAreThoseOfFiniteDifferences, ()) {
  const double old = number();
  const double other = number();
  expect_slope([&](double at) { return policy_loss(at, old, other, {0.2, 0.3}, 0.7).loss; }, old + number() / 5);
  expect_slope([&](double at) { return value_loss(at, old, other, std::nullopt); }, number());
  expect_slope([&](double at) { return value_loss(at, old, other, 0.2); }, number());
  expect_slope([&](double at) { return kl_loss(KlEstimator::k3, at, old, 0.1); }, number());
  expect_slope([&](double at) { return preference_loss(at); }, 5 * number());
}

TEST(PolicyLoss, IsClippedOnTheSideThatWouldGoOn) {
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

TEST(ValueLoss, IsTheWorseOfTheValueAndTheOneThatMovedLittle) {
  EXPECT_DOUBLE_EQ(value_loss(3, 0, 1, std::nullopt).value, 2);
  // Beyond the return and clipped short of it: the value itself is worse.
  EXPECT_DOUBLE_EQ(value_loss(3, 0, 1, 0.5).value, 2);
  EXPECT_DOUBLE_EQ(value_loss(3, 0, 1, 0.5).slope, 2);
  // On its way to the return: no faster.
  EXPECT_DOUBLE_EQ(value_loss(2, 0, 4, 0.5).value, 3.5 * 3.5 / 2);
  EXPECT_EQ(value_loss(2, 0, 4, 0.5).slope, 0);
  EXPECT_DOUBLE_EQ(value_loss(0.25, 0, 4, 0.5).slope, -3.75);
}

TEST(TruncatedImportance, IsTheRatioUpToTheCap) {
  EXPECT_EQ(truncated_importance(-1, -3, std::nullopt), 1);
  EXPECT_DOUBLE_EQ(truncated_importance(-1, -1.5, 2), std::exp(0.5));
  EXPECT_EQ(truncated_importance(-1, -3, 2), 2);
}

TEST(PreferenceLoss, OfAnyMarginIsANumber) {
  EXPECT_DOUBLE_EQ(preference_loss(0).value, std::log(2));
  EXPECT_DOUBLE_EQ(preference_loss(0).slope, -0.5);
  EXPECT_DOUBLE_EQ(preference_loss(-5000).value, 5000);
  EXPECT_DOUBLE_EQ(preference_loss(-5000).slope, -1);
  EXPECT_EQ(preference_loss(5000).value, 0);
  EXPECT_EQ(preference_loss(5000).slope, 0);
}

}  // namespace
}  // namespace dovetail::learn
