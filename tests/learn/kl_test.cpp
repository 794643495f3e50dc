#include "learn/kl.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

namespace dovetail::learn {
namespace {

constexpr KlEstimator all[] = {KlEstimator::k1, KlEstimator::k2, KlEstimator::k3};

TEST(Kl, EstimatorsAreThoseOfTheirAuthor) {
  EXPECT_DOUBLE_EQ(kl_of(KlEstimator::k1, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(kl_of(KlEstimator::k2, 0.5), 0.125);
  EXPECT_DOUBLE_EQ(kl_of(KlEstimator::k3, 0.5), std::exp(-0.5) - 1 + 0.5);
  for (const KlEstimator estimator : all) EXPECT_EQ(kl_of(estimator, 0), 0);
}

TEST(Kl, MeansOfK1AndK3AreTheDivergence) {
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

RC_GTEST_PROP(Kl, SlopesAreThoseOfFiniteDifferences, ()) {
  const double log_ratio = *rc::gen::inRange(-5000, 5000) / 1000.0;
  constexpr double step = 1e-6;
  for (const KlEstimator estimator : all) {
    const double slope = (kl_of(estimator, log_ratio + step) - kl_of(estimator, log_ratio - step)) / (2 * step);
    RC_ASSERT(std::abs(slope - kl_slope(estimator, log_ratio)) <= 1e-6 * (1 + std::abs(slope)));
    if (estimator != KlEstimator::k1) RC_ASSERT(kl_of(estimator, log_ratio) >= 0);
  }
}

TEST(AdaptiveKl, MovesTowardsItsTargetByNoMoreThanAFifthAHorizon) {
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

}  // namespace
}  // namespace dovetail::learn
