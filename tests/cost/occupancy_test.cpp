#include "cost/occupancy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "occupancies.h"
#include "workflow/log_normal.h"

namespace dovetail::cost {

namespace {

using test::all_tokens;
using workflow::LengthDistribution;

TEST(Occupancy, AllTokensAreAccountedFor) {
  const auto lengths = workflow::log_normal_lengths({.mean = 1000, .sigma = 0.8, .cap = 4096});
  for (const double waves : {0.3, 1.0, 1.01, 1.4, 2.0, 2.9, 3.0, 3.1, 17.7, 400.0})
    EXPECT_NEAR(all_tokens(occupancy_of(lengths, 20 * waves, 20)) / (20 * waves * lengths.mean()), 1, 0.01) << waves;
}

TEST(Occupancy, EqualLengthsGoInWaves) {
  const auto lengths = LengthDistribution::fixed(640);
  EXPECT_EQ(occupancy_of(lengths, 10, 10).tail, 0U);
  const Occupancy two = occupancy_of(lengths, 20, 10);
  ASSERT_EQ(two.tail, 1U);
  EXPECT_DOUBLE_EQ(two.stretches[0].steps, 640);
  EXPECT_DOUBLE_EQ(two.stretches[0].sequences, 10);
  EXPECT_NEAR(two.stretches[0].context, 319.5, 6);
  EXPECT_DOUBLE_EQ(two.stretches[1].sequences, 10);
  EXPECT_DOUBLE_EQ(two.stretches.back().sequences, 10);
  EXPECT_NEAR(two.stretches[1].context, 4.5, 1e-9) << "there are no own tokens before the first of ten steps";
  const Occupancy half = occupancy_of(lengths, 25, 10);
  EXPECT_DOUBLE_EQ(half.stretches[0].steps, 1280);
  EXPECT_DOUBLE_EQ(half.stretches[1].sequences, 5);
}

TEST(Occupancy, ManyWavesReachTheSteadyState) {
  const auto lengths = workflow::log_normal_lengths({.mean = 1000, .sigma = 0.8, .cap = 4096});
  const Occupancy occupancy = occupancy_of(lengths, 50, 1);
  // The rest of a sequence at a random moment: E[x^2] / 2 E[x].
  const double left = lengths.second_moment() / (2 * lengths.mean());
  ASSERT_EQ(occupancy.tail, 1U);
  EXPECT_NEAR(occupancy.stretches[0].steps, 50 * lengths.mean() - left, 0.002 * occupancy.stretches[0].steps);
  EXPECT_NEAR(occupancy.stretches[0].context, left, 0.02 * left);
}

}  // namespace

namespace {

using test::all_tokens;
using workflow::LengthDistribution;

/// Steps of the first `count` parts.
double steps_of(const Occupancy& occupancy, std::size_t count) {
  double steps = 0;
  for (std::size_t part = 0; part < count; ++part) steps += occupancy.stretches[part].steps;
  return steps;
}

double all_steps(const Occupancy& occupancy) { return steps_of(occupancy, occupancy.stretches.size()); }

RC_GTEST_PROP(CacheOccupancy, AllTokensAreAccountedForWithinTheCache, ()) {
  const double sigma = *rc::gen::inRange(1, 12) / 10.0;
  const auto lengths =
      workflow::log_normal_lengths({.mean = 500.0 + *rc::gen::inRange(0, 1000), .sigma = sigma, .cap = 6000});
  CacheWork work;
  work.sequences = *rc::gen::inRange(1, 3000);
  work.places = *rc::gen::inRange(1, 257);
  work.prompt = *rc::gen::inRange(0, 2000);
  work.group = *rc::gen::inRange(1, 17);
  work.cache_tokens = *rc::gen::inRange(100, 200'000);
  const Occupancy occupancy = cache_occupancy_of(lengths, work);
  RC_ASSERT(std::abs(all_tokens(occupancy) / (work.sequences * lengths.mean()) - 1) < 0.01);
  RC_ASSERT(occupancy.tail <= occupancy.stretches.size());
  for (const Occupancy::Stretch& stretch : occupancy.stretches) {
    RC_ASSERT(stretch.sequences <= work.places + 1e-6);
    // At least one runs, whatever the cache size. A preempted sequence runs half of its last part.
    const double step = static_cast<double>(lengths.longest()) / 64;
    RC_ASSERT(stretch.sequences <= 1 + 1e-6 ||
              stretch.sequences * (work.prompt / work.group + stretch.context - step) <=
                  work.cache_tokens * (1 + 1e-6));
  }
  if (!occupancy.is_short_of_cache) RC_ASSERT(occupancy.recomputed == 0.0);
}

TEST(CacheOccupancy, AgreesWithOccupancyIfAllFit) {
  const auto lengths = workflow::log_normal_lengths({.mean = 700, .sigma = 0.8, .cap = 4096});
  for (const double sequences : {20.0, 64.0, 100.0, 640.0}) {
    const Occupancy there = cache_occupancy_of(lengths, {sequences, 64, 100, 1, 1e9});
    const Occupancy other = occupancy_of(lengths, sequences, 64);
    EXPECT_FALSE(there.is_short_of_cache);
    EXPECT_EQ(there.recomputed, 0);
    EXPECT_NEAR(there.at_start, other.at_start, 1e-6);
    EXPECT_NEAR(all_steps(there), all_steps(other), 0.03 * all_steps(other)) << sequences;
  }
}

TEST(CacheOccupancy, EqualLengthsThatDoNotFitTogetherRunInTurn) {
  // Two sequences of 640 tokens in a cache of 960: both grow to 480. The preempted part of the second then waits until
  // the first has ended.
  const Occupancy occupancy = cache_occupancy_of(LengthDistribution::fixed(640), {2, 256, 0, 1, 992});
  EXPECT_TRUE(occupancy.is_short_of_cache);
  EXPECT_NEAR(occupancy.at_start, 2, 1e-9);
  EXPECT_NEAR(all_tokens(occupancy), 2 * 640, 1e-3);
  EXPECT_NEAR(all_steps(occupancy), 800, 10);
  EXPECT_NEAR(steps_of(occupancy, occupancy.tail), 640, 1e-3);
  // Half of the second stays. The other half has generated 560 tokens on average when it is preempted.
  EXPECT_NEAR(occupancy.recomputed, 0.5 * (560 + 16), 20);
}

TEST(CacheOccupancy, LessCacheIsNeverFaster) {
  const auto lengths = workflow::log_normal_lengths({.mean = 700, .sigma = 0.8, .cap = 4096});
  double before = 0;
  for (double cache_tokens = 300e3; cache_tokens > 5e3; cache_tokens *= 0.97) {
    const double steps = all_steps(cache_occupancy_of(lengths, {256, 256, 100, 1, cache_tokens}));
    EXPECT_GT(steps, 0.98 * before) << cache_tokens;
    // No jumps: 3% less cache adds at most 10% more steps.
    EXPECT_LT(steps, before > 0 ? 1.1 * before : 1e9) << cache_tokens;
    before = steps;
  }
}

TEST(CacheOccupancy, LaterWavesRepeatTheThird) {
  const auto lengths = workflow::log_normal_lengths({.mean = 700, .sigma = 0.5, .cap = 4096});
  const Occupancy some = cache_occupancy_of(lengths, {3000, 256, 100, 1, 20e3});
  const Occupancy many = cache_occupancy_of(lengths, {30'000, 256, 100, 1, 20e3});
  EXPECT_NEAR(steps_of(many, many.tail) / steps_of(some, some.tail), 10, 0.3);
  EXPECT_NEAR(many.recomputed / some.recomputed, 10, 0.3);
  EXPECT_LT(many.stretches.size(), 2000U);
}

}  // namespace

}  // namespace dovetail::cost
