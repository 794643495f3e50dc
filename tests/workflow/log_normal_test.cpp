#include "workflow/log_normal.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace dovetail::workflow {
namespace {

LengthDistribution made(const LengthFigures& figures) {
  const auto fault = find_fault(figures);
  EXPECT_FALSE(fault.has_value()) << fault->figure << ": " << fault->message;
  return log_normal_lengths(figures);
}

std::string fault_of(const LengthFigures& figures) {
  const auto fault = find_fault(figures);
  return fault ? std::string(fault->figure) + ": " + fault->message : "no fault";
}

double at_cap(const LengthDistribution& distribution, std::int64_t cap) { return distribution.survival(cap - 1); }

TEST(LogNormal, HasTheQuantilesOfAKnownDistribution) {
  // Median 1000, sigma 0.5: quantiles are 1000 * exp(0.5 z), the mean is 1000 * exp(0.125).
  for (const LengthFigures& figures : {LengthFigures{.p50 = 1000, .sigma = 0.5},
                                       LengthFigures{.p50 = 1000, .p90 = 1000 * std::exp(0.5 * 1.2815515655446004)},
                                       LengthFigures{.mean = 1000 * std::exp(0.125), .sigma = 0.5},
                                       LengthFigures{.p50 = 1000, .mean = 1000 * std::exp(0.125)}}) {
    const LengthDistribution distribution = made(figures);
    EXPECT_NEAR(distribution.mean(), 1000 * std::exp(0.125), 0.5);
    EXPECT_NEAR(static_cast<double>(distribution.quantile(0.5)), 1000, 1);
    EXPECT_NEAR(static_cast<double>(distribution.quantile(0.1)), 1000 * std::exp(-0.5 * 1.2815515655446004), 1);
    EXPECT_NEAR(static_cast<double>(distribution.quantile(0.99)), 1000 * std::exp(0.5 * 2.3263478740408408), 12)
        << "coarser beyond 2500";
    EXPECT_NEAR(distribution.second_moment(), 1e6 * std::exp(0.5), 1e3);
  }
}

TEST(LogNormal, TheCapCutsLongerLengths) {
  const LengthDistribution distribution = made({.p50 = 800, .sigma = 0.8, .cap = 4096});
  EXPECT_EQ(distribution.longest(), 4096);
  EXPECT_NEAR(at_cap(distribution, 4096), std::erfc(std::log(4096 / 800.0) / 0.8 / std::sqrt(2.0)) / 2.0, 1e-9);
  EXPECT_EQ(distribution.quantile(0.5), 800);
}

TEST(LogNormal, AMeanIsMetAfterTheCap) {
  const LengthDistribution distribution = made({.mean = 1060, .sigma = 0.8, .cap = 4096});
  EXPECT_NEAR(distribution.mean(), 1060, 0.1);
  EXPECT_GT(at_cap(distribution, 4096), 0.01);
}

TEST(LogNormal, MeetsAllQuantiles) {
  const LengthDistribution distribution = made({.p50 = 800, .p90 = 2100, .p99 = 3900, .cap = 4096});
  EXPECT_EQ(distribution.quantile(0.5), 800);
  EXPECT_EQ(distribution.quantile(0.9), 2100);
  EXPECT_EQ(distribution.quantile(0.99), 3900);
  EXPECT_LT(at_cap(distribution, 4096), 0.01);
}

TEST(LogNormal, MeetsTheFractionAtTheCap) {
  const LengthDistribution distribution = made({.p50 = 800, .p90 = 2100, .p99 = 4096, .cap = 4096, .at_cap = 0.03});
  EXPECT_NEAR(at_cap(distribution, 4096), 0.03, 1e-9);
  EXPECT_EQ(distribution.quantile(0.9), 2100);
  EXPECT_EQ(distribution.quantile(0.5), 800);
  EXPECT_NEAR(at_cap(made({.p50 = 800, .cap = 4096, .at_cap = 0.2}), 4096), 0.2, 1e-9);
  const LengthDistribution by_mean = made({.mean = 1500, .cap = 4096, .at_cap = 0.05});
  EXPECT_NEAR(at_cap(by_mean, 4096), 0.05, 1e-9);
  EXPECT_NEAR(by_mean.mean(), 1500, 0.1);
}

TEST(LogNormal, AMeanWithQuantilesMovesTheShortLengths) {
  const LengthFigures quantiles{.p50 = 800, .p90 = 2100, .cap = 4096};
  const double without = made(quantiles).mean();
  for (const double change : {-100.0, -20.0, 20.0, 60.0}) {
    LengthFigures figures = quantiles;
    figures.mean = without + change;
    const LengthDistribution distribution = made(figures);
    EXPECT_NEAR(distribution.mean(), without + change, 0.2);
    EXPECT_EQ(distribution.quantile(0.5), 800);
    EXPECT_EQ(distribution.quantile(0.9), 2100);
  }
}

TEST(LogNormal, EqualStatisticsAreOneLength) {
  EXPECT_EQ(made({.p50 = 800, .p90 = 800}), LengthDistribution::fixed(800));
  EXPECT_EQ(made({.p50 = 800, .sigma = 0.0}), LengthDistribution::fixed(800));
  EXPECT_EQ(made({.p50 = 4096, .sigma = 0.0, .cap = 4096}), LengthDistribution::fixed(4096));
  EXPECT_EQ(made({.p50 = 1, .sigma = 0.0, .cap = 1}), LengthDistribution::fixed(1));
}

TEST(LogNormal, StaysWithinTheLongestLength) {
  const LengthDistribution distribution = made({.p50 = 1e6, .sigma = 3.0});
  EXPECT_EQ(distribution.longest(), max_length);
  EXPECT_LE(distribution.points().size(), max_length_points);
  EXPECT_NEAR(static_cast<double>(distribution.quantile(0.5)), 1e6, 1e6 / 300);
}

TEST(LogNormal, WeightsAreReproducible) {
  const LengthDistribution distribution = made({.p50 = 800, .p90 = 2100, .p99 = 3900, .mean = 1050, .cap = 4096});
  std::uint64_t hash = 0;
  for (const auto& [length, weight] : distribution.points())
    hash = base::scatter(hash ^ base::scatter(static_cast<std::uint64_t>(length * max_weight + weight)));
  EXPECT_EQ(hash, 8147777063930941992U);
}

TEST(LogNormal, StatisticsOutOfRangeAreRejected) {
  EXPECT_EQ(fault_of({.p50 = 0.5, .sigma = 1.0}), "p50: `p50` is 0.5; accepted: a number from 1 to 16777216");
  EXPECT_EQ(fault_of({.mean = 2e7, .sigma = 1.0}), "mean: `mean` is 20000000; accepted: a number from 1 to 16777216");
  EXPECT_EQ(fault_of({.p50 = 8, .sigma = 5.5}), "sigma: `sigma` is 5.5; accepted: a number from 0 to 5");
  EXPECT_EQ(fault_of({.p50 = 8, .sigma = NAN}), "sigma: `sigma` is nan; accepted: a number from 0 to 5");
  EXPECT_EQ(fault_of({.p50 = 8, .sigma = 1.0, .cap = 0}), "cap: `cap` is 0; accepted: a number from 1 to 16777216");
  const std::string fraction = "; accepted: from 1e-9 to 1 - 1e-9, or no `at_cap` if no length reaches the cap";
  EXPECT_EQ(fault_of({.p50 = 8, .cap = 9, .at_cap = 0.0}), "at_cap: `at_cap` is 0" + fraction);
  EXPECT_EQ(fault_of({.p50 = 8, .cap = 9, .at_cap = 1.0}), "at_cap: `at_cap` is 1" + fraction);
  EXPECT_EQ(fault_of({.p50 = 8, .at_cap = 0.1}), "at_cap: `at_cap` needs `cap`; accepted: both or neither");
  EXPECT_EQ(fault_of({.mean = 1, .cap = 1, .at_cap = 0.1}),
            "cap: `cap` is 1, and no length is below it; accepted: at least 2 with `at_cap`");
}

TEST(LogNormal, ContradictionsAreRejected) {
  EXPECT_EQ(fault_of({.p50 = 800, .p90 = 500}), "p90: `p90` is 500; accepted: at least 800 (`p50`)");
  EXPECT_EQ(fault_of({.p50 = 800, .p99 = 500}), "p99: `p99` is 500; accepted: at least 800 (`p50`)");
  EXPECT_EQ(fault_of({.p50 = 800, .p90 = 900, .p99 = 850}), "p99: `p99` is 850; accepted: at least 900 (`p90`)");
  EXPECT_EQ(fault_of({.p50 = 800, .sigma = 1.0, .cap = 700}), "p50: `p50` is 800; accepted: at most 700 (`cap`)");
  EXPECT_EQ(fault_of({.p50 = 800, .p99 = 3900, .cap = 4096, .at_cap = 0.03}),
            "p99: `p99` is 3900; accepted: 4096 (`cap`) because `at_cap` is 0.03, or a smaller `at_cap`");
  EXPECT_EQ(fault_of({.p50 = 800, .p99 = 3900, .cap = 4096, .at_cap = 0.01}),
            "p99: `p99` is 3900; accepted: 4096 (`cap`) because `at_cap` is 0.01, or a smaller `at_cap`");
  EXPECT_EQ(fault_of({.p50 = 800, .p99 = 4096, .cap = 4096, .at_cap = 0.01}), "no fault");
  EXPECT_EQ(fault_of({.p50 = 800, .p90 = 4096, .cap = 4096, .at_cap = 0.03}),
            "p90: `p90` is 4096; accepted: less than 4096 (`cap`) because `at_cap` is 0.03, or a larger `at_cap`");
  EXPECT_EQ(fault_of({.sigma = 0.0, .cap = 4096, .at_cap = 0.1}),
            "sigma: `sigma` is 0; accepted: more than 0 with `at_cap`");
  EXPECT_EQ(fault_of({.p50 = 800, .mean = 4096, .cap = 4096}),
            "mean: `mean` is 4096; accepted: less than 4096 (`cap`)");
  EXPECT_EQ(fault_of({.p50 = 800, .p90 = 2100, .mean = 500, .cap = 4096}),
            "mean: `mean` is 500, which the other statistics rule out for any spread; accepted: from 863 to 1200");
  EXPECT_EQ(fault_of({.p50 = 800, .mean = 300}),
            "mean: `mean` is 300, which the other statistics rule out for any spread; accepted: from 800 to 671243");
}

TEST(LogNormal, TooFewAndTooManyStatisticsAreRejected) {
  const std::string accepted =
      "; accepted: two or more of p50, p90, p99, mean, at_cap (with cap), or sigma with one of them; "
      "values at the cap count once";
  EXPECT_EQ(fault_of({}), ": the given values are not enough to determine the lengths" + accepted);
  EXPECT_EQ(fault_of({.cap = 4096}), ": the given values are not enough to determine the lengths" + accepted);
  EXPECT_EQ(fault_of({.p50 = 800, .cap = 4096}),
            ": the given values are not enough to determine the lengths" + accepted);
  EXPECT_EQ(fault_of({.p50 = 4096, .p90 = 4096, .cap = 4096, .at_cap = 0.5}),
            ": the given values are not enough to determine the lengths" + accepted)
      << "only the quantile at the cap is known";
  EXPECT_EQ(fault_of({.mean = 800}), ": the given values are not enough to determine the lengths" + accepted);
  const std::string accepted_text = "; accepted: exactly one of p50, p90, p99, mean, at_cap";
  EXPECT_EQ(fault_of({.sigma = 0.8}), "sigma: `sigma` is combined with no other statistic" + accepted_text);
  EXPECT_EQ(fault_of({.p50 = 800, .mean = 900, .sigma = 0.8}),
            "sigma: `sigma` is combined with more than one statistic" + accepted_text);
}

RC_GTEST_PROP(LogNormalProperty, MeetsConsistentStatistics, ()) {
  const double p50 = *rc::gen::inRange(1, 3000);
  const double p90 = p50 + *rc::gen::inRange(0, 4000);
  LengthFigures figures{.p50 = p50, .p90 = p90};
  if (*rc::gen::arbitrary<bool>()) figures.p99 = p90 + *rc::gen::inRange(0, 8000);
  if (*rc::gen::arbitrary<bool>())
    figures.cap = static_cast<std::int64_t>(figures.p99.value_or(p90)) + *rc::gen::inRange(1, 3000);
  const LengthDistribution distribution = made(figures);
  const auto near = [&](double p, double length) {
    return std::abs(static_cast<double>(distribution.quantile(p)) - length) <= 1.0 + length / 300;
  };
  RC_ASSERT(near(0.5, p50));
  RC_ASSERT(near(0.9, p90));
  if (figures.p99) RC_ASSERT(near(0.99, *figures.p99));
  if (figures.cap) RC_ASSERT(distribution.longest() <= *figures.cap);
  RC_ASSERT(distribution.shortest() >= 1);
}

RC_GTEST_PROP(LogNormalProperty, MeetsAMeanWithASpread, ()) {
  const double mean = *rc::gen::inRange(200, 5000);
  const double sigma = *rc::gen::inRange(0, 150) / 100.0;
  LengthFigures figures{.mean = mean, .sigma = sigma};
  if (*rc::gen::arbitrary<bool>()) figures.cap = static_cast<std::int64_t>(mean * 1.2) + *rc::gen::inRange(1, 20'000);
  RC_ASSERT(std::abs(made(figures).mean() - mean) <= 0.5 + mean * 1e-3);
}

RC_GTEST_PROP(LogNormalProperty, StatisticsHaveAFaultOrADistribution, ()) {
  const auto length = [] {
    return *rc::gen::oneOf(
        rc::gen::just(std::optional<double>()),
        rc::gen::map(rc::gen::element(1.0, 2.0, 800.0, 800.5, 1200.0, 4096.0, 100'000.0, 16'777'216.0),
                     [](double x) { return std::optional(x); }));
  };
  LengthFigures figures{.p50 = length(), .p90 = length(), .p99 = length(), .mean = length()};
  if (*rc::gen::arbitrary<bool>()) figures.sigma = *rc::gen::element(0.0, 1e-9, 0.3, 1.0, 5.0);
  if (*rc::gen::arbitrary<bool>()) figures.cap = *rc::gen::element<std::int64_t>(1, 2, 4096, 100'000, max_length);
  if (*rc::gen::arbitrary<bool>())
    figures.at_cap = *rc::gen::element(1e-9, 0.0099, 0.00999999999, 0.01, 0.1, 0.3, 0.4999999999, 0.999);
  const auto fault = find_fault(figures);
  if (fault) {
    RC_ASSERT(!fault->message.empty());
    return;
  }
  const LengthDistribution distribution = log_normal_lengths(figures);
  RC_ASSERT(distribution.points().size() <= max_length_points);
  RC_ASSERT(distribution.longest() <= figures.cap.value_or(max_length));
  RC_ASSERT(distribution.total_weight() <= max_weight);
  if (figures.at_cap) RC_ASSERT(std::abs(at_cap(distribution, *figures.cap) - *figures.at_cap) <= 1e-7);
}

}  // namespace
}  // namespace dovetail::workflow
