#include "workflow/lengths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

namespace dovetail::workflow {
namespace {

using testing::ElementsAre;

LengthDistribution lengths(std::vector<LengthPoint> points) {
  return LengthDistribution::of(std::move(points)).value();
}

std::string error_of(std::vector<LengthPoint> points) {
  const auto result = LengthDistribution::of(std::move(points));
  return result.ok() ? "no error" : base::to_text(result.error());
}

/// A random distribution, with few points or enough to be merged.
LengthDistribution any_lengths() {
  const int count = *rc::gen::element(1, 2, 5, 40, 7000);
  const std::int64_t longest = *rc::gen::element<std::int64_t>(3, 100, 20'000, max_length);
  base::Random random(*rc::gen::arbitrary<std::uint64_t>(), 0);
  std::vector<LengthPoint> points{{1, 1}};
  for (int i = 0; i < count; ++i)
    points.push_back(
        {static_cast<std::int64_t>(random.below(static_cast<std::uint32_t>(longest + 1))), random.below(50)});
  return lengths(std::move(points));
}

TEST(LengthDistribution, SortsMergesAndDropsPoints) {
  const LengthDistribution distribution = lengths({{30, 4}, {10, 2}, {20, 0}, {30, 2}});
  EXPECT_THAT(distribution.points(), ElementsAre(LengthPoint{10, 1}, LengthPoint{30, 3}));
  EXPECT_EQ(distribution.total_weight(), 4);
  EXPECT_EQ(distribution, lengths({{10, 100}, {30, 300}})) << "equal fractions are equal";
}

TEST(LengthDistribution, MatchesAKnownExample) {
  const LengthDistribution distribution = lengths({{10, 1}, {20, 2}, {50, 1}});
  EXPECT_EQ(distribution.shortest(), 10);
  EXPECT_EQ(distribution.longest(), 50);
  EXPECT_EQ(distribution.mean(), 25.0);
  EXPECT_EQ(distribution.second_moment(), (100.0 + 2 * 400.0 + 2500.0) / 4);
  EXPECT_EQ(distribution.quantile(0.0), 10);
  EXPECT_EQ(distribution.quantile(0.25), 10);
  EXPECT_EQ(distribution.quantile(0.26), 20);
  EXPECT_EQ(distribution.quantile(0.75), 20);
  EXPECT_EQ(distribution.quantile(0.76), 50);
  EXPECT_EQ(distribution.quantile(1.0), 50);
  EXPECT_EQ(distribution.survival(-1), 1.0);
  EXPECT_EQ(distribution.survival(9), 1.0);
  EXPECT_EQ(distribution.survival(10), 0.75);
  EXPECT_EQ(distribution.survival(49), 0.25);
  EXPECT_EQ(distribution.survival(50), 0.0);
  EXPECT_EQ(distribution.mean_beyond(0), 25.0);
  EXPECT_EQ(distribution.mean_beyond(10), 30.0);
  EXPECT_EQ(distribution.mean_beyond(20), 50.0);
  EXPECT_EQ(distribution.mean_beyond(50), std::nullopt);
}

TEST(LengthDistribution, FixedIsOnePoint) {
  const LengthDistribution distribution = LengthDistribution::fixed(512);
  EXPECT_THAT(distribution.points(), ElementsAre(LengthPoint{512, 1}));
  EXPECT_EQ(distribution.mean(), 512.0);
  EXPECT_EQ(distribution.expected_maximum(1000), 512.0);
  base::Random random(1, 0);
  EXPECT_THAT(distribution.sample(3, random), ElementsAre(512, 512, 512));
}

TEST(LengthDistribution, TheHundredthsOfAHundredLengthsAreTheirOwnQuantiles) {
  std::vector<LengthPoint> points;
  for (std::int64_t length = 1; length <= 100; ++length) points.push_back({length, 1});
  const LengthDistribution distribution = lengths(points);
  for (int i = 1; i <= 100; ++i) EXPECT_EQ(distribution.quantile(i / 100.0), i);
}

TEST(LengthDistribution, ExpectedMaximumMatchesAllPossibleDraws) {
  const std::vector<std::int64_t> equally_likely{3, 5, 5, 11, 40};
  std::vector<LengthPoint> points;
  for (const std::int64_t length : equally_likely) points.push_back({length, 1});
  const LengthDistribution distribution = lengths(points);
  for (int draws = 1; draws <= 5; ++draws) {
    const int outcomes = static_cast<int>(std::pow(5, draws));
    double sum = 0.0;
    for (int outcome = 0; outcome < outcomes; ++outcome) {
      std::int64_t most = 0;
      for (int draw = 0, rest = outcome; draw < draws; ++draw, rest /= 5)
        most = std::max(most, equally_likely[static_cast<std::size_t>(rest % 5)]);
      sum += static_cast<double>(most);
    }
    EXPECT_NEAR(distribution.expected_maximum(draws), sum / outcomes, 1e-9) << draws;
  }
  EXPECT_NEAR(distribution.expected_maximum(1'000'000), 40.0, 1e-9);
}

TEST(LengthDistribution, DrawsAreReproducible) {
  base::Random random(1, 0);
  EXPECT_THAT(lengths({{10, 1}, {20, 2}, {50, 1}}).sample(8, random), ElementsAre(20, 50, 10, 10, 20, 10, 20, 20));
}

TEST(LengthDistribution, RejectsInvalidPoints) {
  EXPECT_EQ(error_of({}), "there are no lengths; accepted: at least one length greater than 0");
  EXPECT_EQ(error_of({{7, 0}}), "there are no lengths; accepted: at least one length greater than 0");
  EXPECT_EQ(error_of({{0, 3}}), "all lengths are 0; accepted: at least one length greater than 0");
  EXPECT_EQ(error_of({{0, 3}, {4, 0}}), "all lengths are 0; accepted: at least one length greater than 0");
  EXPECT_EQ(error_of({{-1, 3}}), "a length is -1 tokens; accepted: an integer from 0 to 16777216");
  EXPECT_EQ(error_of({{max_length + 1, 3}}), "a length is 16777217 tokens; accepted: an integer from 0 to 16777216");
  const std::string weights = "a weight is negative, or the weights add up to more than 68719476736";
  EXPECT_EQ(error_of({{1, -1}}), weights);
  EXPECT_EQ(error_of({{1, max_weight}, {2, 1}}), weights);
  EXPECT_EQ(error_of({{max_length, max_weight}}), "no error");
}

TEST(LengthBins, AreSingleLengthsIfThereAreFew) {
  const std::vector<LengthBin> bins = length_bins(4999);
  EXPECT_EQ(bins.size(), max_length_points);
  for (const LengthBin& bin : bins) EXPECT_EQ(bin.first, bin.last);
}

RC_GTEST_PROP(LengthBinsProperty, CoverAllLengthsWithinTheirPrecision, ()) {
  const std::int64_t longest =
      *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 20'000), rc::gen::inRange<std::int64_t>(0, max_length));
  std::int64_t next = 0;
  const std::vector<LengthBin> bins = length_bins(longest);
  RC_ASSERT(bins.size() <= max_length_points);
  for (const auto& [first, last] : bins) {
    RC_ASSERT(first == next);
    RC_ASSERT(last >= first);
    RC_ASSERT((last - first) * 300 <= first);
    next = last + 1;
  }
  RC_ASSERT(next == longest + 1);
}

RC_GTEST_PROP(LengthDistributionProperty, MergingKeepsTheMeanAndTheQuantiles, ()) {
  base::Random random(*rc::gen::arbitrary<std::uint64_t>(), 0);
  std::vector<LengthPoint> points;
  std::vector<std::int64_t> all;
  for (int i = 0; i < 8000; ++i) {
    all.push_back(1 + random.below(1'000'000));
    points.push_back({all.back(), 1});
  }
  std::sort(all.begin(), all.end());
  const LengthDistribution distribution = lengths(points);
  RC_ASSERT(distribution.points().size() <= max_length_points);
  double sum = 0.0;
  for (const std::int64_t length : all) sum += static_cast<double>(length);
  RC_ASSERT(std::abs(distribution.mean() - sum / 8000) <= 0.5);
  for (const double p : {0.01, 0.5, 0.9, 0.999}) {
    const auto exact = static_cast<double>(all[static_cast<std::size_t>(std::ceil(p * 8000 - 1e-6)) - 1]);
    RC_ASSERT(std::abs(static_cast<double>(distribution.quantile(p)) - exact) <= exact / 300 + 1);
  }
}

RC_GTEST_PROP(LengthDistributionProperty, SurvivalFallsFromOneToZero, ()) {
  const LengthDistribution distribution = any_lengths();
  double last = 1.0;
  for (const LengthPoint& point : distribution.points()) {
    RC_ASSERT(distribution.survival(point.length - 1) == last);
    const double next = distribution.survival(point.length);
    RC_ASSERT(next < last);
    last = next;
  }
  RC_ASSERT(last == 0.0);
}

RC_GTEST_PROP(LengthDistributionProperty, QuantileIsTheInverseOfSurvival, ()) {
  const LengthDistribution distribution = any_lengths();
  for (const LengthPoint& point : distribution.points()) {
    const double up_to = 1.0 - distribution.survival(point.length);
    RC_ASSERT(distribution.quantile(up_to) == point.length);
  }
  const double p = static_cast<double>(*rc::gen::inRange(0, 1'000'001)) * 1e-6;
  const std::int64_t quantile = distribution.quantile(p);
  RC_ASSERT(1.0 - distribution.survival(quantile) >= p - 1e-9);
  if (quantile > distribution.shortest()) RC_ASSERT(1.0 - distribution.survival(quantile - 1) < p);
}

RC_GTEST_PROP(LengthDistributionProperty, MomentsAreWithinTheirBounds, ()) {
  const LengthDistribution distribution = any_lengths();
  const double mean = distribution.mean();
  const double rounding = 1.0 + 1e-12;
  RC_ASSERT(static_cast<double>(distribution.shortest()) <= mean * rounding);
  RC_ASSERT(mean <= static_cast<double>(distribution.longest()) * rounding);
  RC_ASSERT(distribution.second_moment() * rounding >= mean * mean);
  // The mean is also the sum of survival over all lengths.
  double sum = static_cast<double>(distribution.shortest());
  for (std::size_t i = 0; i + 1 < distribution.points().size(); ++i)
    sum += static_cast<double>(distribution.points()[i + 1].length - distribution.points()[i].length) *
           distribution.survival(distribution.points()[i].length);
  RC_ASSERT(std::abs(sum - mean) <= 1e-9 * mean);
  // The mean beyond a length exceeds it, and increases with it.
  double last = mean;
  for (const LengthPoint& point : distribution.points()) {
    const std::optional<double> beyond = distribution.mean_beyond(point.length);
    RC_ASSERT(beyond.has_value() == (point.length < distribution.longest()));
    if (!beyond) break;
    RC_ASSERT(*beyond > static_cast<double>(point.length));
    RC_ASSERT(*beyond >= last / rounding);
    last = *beyond;
  }
}

RC_GTEST_PROP(LengthDistributionProperty, TheMaximumRisesFromTheMeanToTheLongest, ()) {
  const LengthDistribution distribution = any_lengths();
  const double rounding = 1.0 + 1e-9;
  RC_ASSERT(std::abs(distribution.expected_maximum(1) - distribution.mean()) <= 1e-9 * distribution.mean());
  double last = distribution.mean();
  for (std::int64_t draws = 2; draws < 1'000'000; draws *= 3) {
    const double maximum = distribution.expected_maximum(draws);
    RC_ASSERT(maximum * rounding >= last);
    RC_ASSERT(maximum <= static_cast<double>(distribution.longest()) * rounding);
    last = maximum;
  }
}

RC_GTEST_PROP(LengthDistributionProperty, SamplesHaveItsMeanAndItsLengths, ()) {
  const LengthDistribution distribution = any_lengths();
  base::Random random(*rc::gen::arbitrary<std::uint64_t>(), 7);
  constexpr std::size_t count = 4000;
  double sum = 0.0;
  for (const std::int64_t length : distribution.sample(count, random)) {
    RC_ASSERT(distribution.survival(length) < distribution.survival(length - 1));
    sum += static_cast<double>(length);
  }
  const double variance = std::max(0.0, distribution.second_moment() - distribution.mean() * distribution.mean());
  // Six standard errors fail once in 10^8 for a normal distribution. For very skewed ones the seeds decide.
  RC_ASSERT(std::abs(sum / count - distribution.mean()) <=
            6.0 * std::sqrt(variance / count) + 1e-6 * distribution.mean());
}

LengthDistribution of(std::vector<LengthPoint> points) { return LengthDistribution::of(std::move(points)).value(); }

LengthDistribution some_lengths() {
  const auto lengths = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 3000)));
  std::vector<LengthPoint> points;
  for (const int length : lengths) points.push_back({length, *rc::gen::inRange<std::int64_t>(1, 50)});
  return of(std::move(points));
}

TEST(ScaledLengths, EveryLengthGrowsAndEndsAtTheCap) {
  const LengthDistribution lengths = of({{0, 1}, {1, 1}, {100, 4}, {300, 2}});
  EXPECT_EQ(scaled(lengths, 2.5), of({{0, 1}, {3, 1}, {250, 4}, {750, 2}}));
  EXPECT_EQ(scaled(lengths, 2.5, 400), of({{0, 1}, {3, 1}, {250, 4}, {400, 2}}));
  // At least one token, except where the length was 0.
  EXPECT_EQ(scaled(lengths, 0.1), of({{0, 1}, {1, 1}, {10, 4}, {30, 2}}));
  EXPECT_EQ(scaled(lengths, 1, 100), of({{0, 1}, {1, 1}, {100, 6}}));
}

RC_GTEST_PROP(ScaledLengths, FactorOneIsTheSameAndMoreIsLonger, ()) {
  const LengthDistribution lengths = some_lengths();
  RC_ASSERT(scaled(lengths, 1) == lengths);
  const double factor = 1 + *rc::gen::inRange(0, 400) / 100.0;
  const std::int64_t cap = *rc::gen::inRange<std::int64_t>(lengths.longest(), 4 * lengths.longest() + 1);
  const LengthDistribution grown = scaled(lengths, factor, cap);
  RC_ASSERT(grown.mean() >= lengths.mean());
  RC_ASSERT(grown.longest() <= cap);
  RC_ASSERT(grown.mean() <= factor * lengths.mean() + 0.5);
}

RC_GTEST_PROP(ScaledLengths, FactorForMeanIsMinimal, ()) {
  const LengthDistribution lengths = some_lengths();
  const std::int64_t cap = *rc::gen::inRange<std::int64_t>(1, 10'000);
  const double mean = *rc::gen::inRange(1, 10'000);
  const auto factor = factor_for_mean(lengths, mean, cap);
  RC_ASSERT(factor.has_value() == (mean <= static_cast<double>(cap)));
  if (!factor) return;
  RC_ASSERT(scaled(lengths, *factor, cap).mean() >= mean);
  RC_ASSERT(scaled(lengths, *factor * (1 - 3e-6), cap).mean() < mean || mean <= 1);
}

TEST(ScaledLengths, FactorForMedianMeetsTheMedianUpToTheCap) {
  const LengthDistribution lengths = of({{100, 4}, {200, 3}, {1000, 3}});
  EXPECT_EQ(factor_for_median(lengths, 500), 2.5);
  EXPECT_EQ(scaled(lengths, 2.5, 800).quantile(0.5), 500);
  EXPECT_EQ(factor_for_median(lengths, 900, 800), std::nullopt);
  EXPECT_EQ(factor_for_median(of({{0, 2}, {10, 1}}), 5), std::nullopt);
}

TEST(ScaledLengths, ResponsesAreCutAtTheSequenceCap) {
  const LengthDistribution responses = of({{10, 1}, {300, 1}});
  EXPECT_EQ(truncate_to_context(responses, LengthDistribution::fixed(100), 250), of({{10, 1}, {150, 1}}));
  EXPECT_EQ(truncate_to_context(responses, LengthDistribution::fixed(100), 400), responses);
  EXPECT_EQ(truncate_to_context(responses, of({{100, 1}, {200, 1}}), 250), of({{10, 2}, {50, 1}, {150, 1}}));
}

RC_GTEST_PROP(ScaledLengths, CutResponsesAreShorterButNotEmpty, ()) {
  const LengthDistribution prompts = some_lengths();
  const LengthDistribution responses = some_lengths();
  const std::int64_t cap = prompts.longest() + *rc::gen::inRange<std::int64_t>(1, 4000);
  const LengthDistribution cut = truncate_to_context(responses, prompts, cap);
  RC_ASSERT(cut.longest() <= std::min(responses.longest(), cap - prompts.shortest()));
  RC_ASSERT(cut.shortest() >= 1 && cut.mean() <= responses.mean() + 1e-9);
  RC_ASSERT(cut.survival(cap - prompts.longest() - 1) <= responses.survival(cap - prompts.longest() - 1) + 1e-9);
}

}  // namespace
}  // namespace dovetail::workflow
