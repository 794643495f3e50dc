#include "workflow/normal.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace dovetail::workflow {
namespace {

double phi(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2.0; }

TEST(Exponential, AgreesWithLibm) {
  for (double x = -700.0; x <= 700.0; x += 0.37) EXPECT_NEAR(exponential(x) / std::exp(x), 1.0, 2e-14) << x;
  EXPECT_EQ(exponential(0.0), 1.0);
}

TEST(NaturalLog, AgreesWithLibm) {
  for (double x = 1e-300; x < 1e299; x *= 3.7) EXPECT_NEAR(natural_log(x), std::log(x), 2e-12) << x;
  EXPECT_EQ(natural_log(1.0), 0.0);
}

TEST(NormalCumulative, AgreesWithTheErrorFunction) {
  for (double z = -9.0; z <= 9.0; z += 0.01) EXPECT_NEAR(normal_cumulative(z), phi(z), 1e-14) << z;
  for (double z = -36.0; z <= -1.0; z += 0.1) EXPECT_NEAR(normal_cumulative(z) / phi(z), 1.0, 1e-10) << z;
  EXPECT_EQ(normal_cumulative(0.0), 0.5);
  EXPECT_EQ(normal_cumulative(-40.0), 0.0);
  EXPECT_EQ(normal_cumulative(40.0), 1.0);
}

TEST(MillsRatio, IsTheTailOverTheDensity) {
  for (double x = 0.0; x <= 36.0; x += 0.1) EXPECT_NEAR(mills_ratio(x) * normal_density(x) / phi(-x), 1.0, 1e-10) << x;
  EXPECT_NEAR(mills_ratio(1e6), 1e-6, 1e-17) << "1 / x - 1 / x^3 + ...";
}

TEST(NormalQuantile, HasTheValuesOfTheTables) {
  EXPECT_EQ(normal_quantile(0.5), 0.0);
  EXPECT_NEAR(normal_quantile(0.9), 1.2815515655446004, 4e-9);
  EXPECT_NEAR(normal_quantile(0.99), 2.3263478740408408, 5e-9);
  EXPECT_NEAR(normal_quantile(1e-9), -5.9978070150076865, 1.3e-8);
}

TEST(NormalFunctions, AreReproducible) {
  // A change here changes the lengths of every job. Results must not depend on the machine.
  EXPECT_EQ(exponential(1.0), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(normal_quantile(0.9), 0x1.4813c3681e9f4p+0);
  EXPECT_EQ(normal_cumulative(1.0), 0x1.aec4bd120d37ep-1);
}

RC_GTEST_PROP(NormalQuantileProperty, IsTheInverse, (std::uint64_t bits)) {
  const double p = static_cast<double>((bits >> 11) | 1) * 0x1p-53;
  const double z = normal_quantile(p);
  RC_ASSERT(std::abs(phi(z) - p) <= 1e-8 * std::min(p, 1.0 - p) * (1.0 + z * z) + 1e-16);
}

RC_GTEST_PROP(NormalCumulativeProperty, Rises, ()) {
  const double z = static_cast<double>(*rc::gen::inRange(-900'000, 900'000)) * 1e-5;
  RC_ASSERT(normal_cumulative(z) <= normal_cumulative(z + 1e-5));
}

}  // namespace
}  // namespace dovetail::workflow
