#include "cost/occupancy.h"

#include <gtest/gtest.h>

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
  EXPECT_DOUBLE_EQ(two.parts[0].steps, 640);
  EXPECT_DOUBLE_EQ(two.parts[0].sequences, 10);
  EXPECT_NEAR(two.parts[0].context, 319.5, 6);
  EXPECT_DOUBLE_EQ(two.parts[1].sequences, 10);
  EXPECT_DOUBLE_EQ(two.parts.back().sequences, 10);
  EXPECT_NEAR(two.parts[1].context, 4.5, 1e-9) << "of its ten steps the first meets none";
  const Occupancy half = occupancy_of(lengths, 25, 10);
  EXPECT_DOUBLE_EQ(half.parts[0].steps, 1280);
  EXPECT_DOUBLE_EQ(half.parts[1].sequences, 5);
}

TEST(Occupancy, ManyWavesEndInTheSteadyState) {
  const auto lengths = workflow::log_normal_lengths({.mean = 1000, .sigma = 0.8, .cap = 4096});
  const Occupancy occupancy = occupancy_of(lengths, 50, 1);
  // What is left of a sequence met at a random moment: E[x^2] / 2 E[x].
  const double left = lengths.second_moment() / (2 * lengths.mean());
  ASSERT_EQ(occupancy.tail, 1U);
  EXPECT_NEAR(occupancy.parts[0].steps, 50 * lengths.mean() - left, 0.002 * occupancy.parts[0].steps);
  EXPECT_NEAR(occupancy.parts[0].context, left, 0.02 * left);
}

}  // namespace
}  // namespace dovetail::cost
