#include "cost/occupancy.h"

#include <gtest/gtest.h>

#include "workflow/log_normal.h"

namespace dovetail::cost {
namespace {

using workflow::LengthDistribution;

double all_steps(const Occupancy& occupancy) {
  double steps = occupancy.full_steps;
  for (const Occupancy::Slice& slice : occupancy.tail) steps += slice.left * occupancy.slice_steps;
  return steps;
}

TEST(Occupancy, AllTokensAreAccountedFor) {
  const auto lengths = workflow::log_normal_lengths({.mean = 1000, .sigma = 0.8, .cap = 4096});
  for (const double waves : {0.3, 1.0, 1.01, 1.4, 2.0, 2.9, 3.0, 3.1, 17.7, 400.0})
    EXPECT_NEAR(all_steps(occupancy_of(lengths, waves)) / (waves * lengths.mean()), 1, 0.01) << waves;
}

TEST(Occupancy, EqualLengthsGoInWaves) {
  const auto lengths = LengthDistribution::fixed(640);
  const Occupancy one = occupancy_of(lengths, 1);
  EXPECT_EQ(one.full_steps, 0);
  const Occupancy two = occupancy_of(lengths, 2);
  EXPECT_DOUBLE_EQ(two.full_steps, 640);
  EXPECT_NEAR(two.full_context, 320, 6);
  EXPECT_DOUBLE_EQ(two.tail.front().left, 1);
  EXPECT_DOUBLE_EQ(two.tail.back().left, 1);
  EXPECT_NEAR(two.tail.front().context, 5, 1e-9) << "they have just begun";
  const Occupancy half = occupancy_of(lengths, 2.5);
  EXPECT_DOUBLE_EQ(half.full_steps, 1280);
  EXPECT_DOUBLE_EQ(half.tail.front().left, 0.5);
}

TEST(Occupancy, ManyWavesEndInTheSteadyState) {
  const auto lengths = workflow::log_normal_lengths({.mean = 1000, .sigma = 0.8, .cap = 4096});
  const Occupancy occupancy = occupancy_of(lengths, 50);
  // What is left of a sequence met at a random moment: E[x^2] / 2 E[x].
  const double left = lengths.second_moment() / (2 * lengths.mean());
  EXPECT_NEAR(occupancy.full_steps, 50 * lengths.mean() - left, 0.002 * occupancy.full_steps);
  EXPECT_NEAR(occupancy.full_context, left, 0.02 * left);
}

}  // namespace
}  // namespace dovetail::cost
