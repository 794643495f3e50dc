#include "workflow/scaled_lengths.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace dovetail::workflow {
namespace {

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
  // At least one token, but where there was none.
  EXPECT_EQ(scaled(lengths, 0.1), of({{0, 1}, {1, 1}, {10, 4}, {30, 2}}));
  EXPECT_EQ(scaled(lengths, 1, 100), of({{0, 1}, {1, 1}, {100, 6}}));
}

RC_GTEST_PROP(ScaledLengths, OnceIsTheSameAndMoreIsLonger, ()) {
  const LengthDistribution lengths = some_lengths();
  RC_ASSERT(scaled(lengths, 1) == lengths);
  const double factor = 1 + *rc::gen::inRange(0, 400) / 100.0;
  const std::int64_t cap = *rc::gen::inRange<std::int64_t>(lengths.longest(), 4 * lengths.longest() + 1);
  const LengthDistribution grown = scaled(lengths, factor, cap);
  RC_ASSERT(grown.mean() >= lengths.mean());
  RC_ASSERT(grown.longest() <= cap);
  RC_ASSERT(grown.mean() <= factor * lengths.mean() + 0.5);
}

RC_GTEST_PROP(ScaledLengths, AMeanIsMetByTheLeastFactor, ()) {
  const LengthDistribution lengths = some_lengths();
  const std::int64_t cap = *rc::gen::inRange<std::int64_t>(1, 10'000);
  const double mean = *rc::gen::inRange(1, 10'000);
  const auto factor = factor_for_mean(lengths, mean, cap);
  RC_ASSERT(factor.has_value() == (mean <= static_cast<double>(cap)));
  if (!factor) return;
  RC_ASSERT(scaled(lengths, *factor, cap).mean() >= mean);
  RC_ASSERT(scaled(lengths, *factor * (1 - 3e-6), cap).mean() < mean || mean <= 1);
}

TEST(ScaledLengths, AMedianIsMetUnlessTheCapIsBelowIt) {
  const LengthDistribution lengths = of({{100, 4}, {200, 3}, {1000, 3}});
  EXPECT_EQ(factor_for_median(lengths, 500), 2.5);
  EXPECT_EQ(scaled(lengths, 2.5, 800).quantile(0.5), 500);
  EXPECT_EQ(factor_for_median(lengths, 900, 800), std::nullopt);
  EXPECT_EQ(factor_for_median(of({{0, 2}, {10, 1}}), 5), std::nullopt);
}

TEST(ScaledLengths, ResponsesEndWherePromptsLeaveNoRoom) {
  const LengthDistribution responses = of({{10, 1}, {300, 1}});
  EXPECT_EQ(cut_to_room(responses, LengthDistribution::fixed(100), 250), of({{10, 1}, {150, 1}}));
  EXPECT_EQ(cut_to_room(responses, LengthDistribution::fixed(100), 400), responses);
  EXPECT_EQ(cut_to_room(responses, of({{100, 1}, {200, 1}}), 250), of({{10, 2}, {50, 1}, {150, 1}}));
}

RC_GTEST_PROP(ScaledLengths, WhatIsCutToRoomIsNoLongerAndNeverNothing, ()) {
  const LengthDistribution prompts = some_lengths();
  const LengthDistribution responses = some_lengths();
  const std::int64_t cap = prompts.longest() + *rc::gen::inRange<std::int64_t>(1, 4000);
  const LengthDistribution cut = cut_to_room(responses, prompts, cap);
  RC_ASSERT(cut.longest() <= std::min(responses.longest(), cap - prompts.shortest()));
  RC_ASSERT(cut.shortest() >= 1 && cut.mean() <= responses.mean() + 1e-9);
  RC_ASSERT(cut.survival(cap - prompts.longest() - 1) <= responses.survival(cap - prompts.longest() - 1) + 1e-9);
}

}  // namespace
}  // namespace dovetail::workflow
