#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace dovetail::base {
namespace {

TEST(Scatter, IsSplitMix64) {
  // The first outputs of SplitMix64 with seed 1234567, as its reference implementation prints them.
  EXPECT_EQ(scatter(1234567), 6457827717110365317ULL);
  EXPECT_EQ(scatter(1234567 + 0x9E3779B97F4A7C15ULL), 3203168211198807973ULL);
}

/// xoshiro256** written out once more, from its paper, with the state taken from SplitMix64.
std::vector<std::uint64_t> expected_stream(std::uint64_t seed, std::uint64_t stream, int count) {
  std::uint64_t counter = scatter(scatter(seed) + stream);
  std::uint64_t s[4];
  for (std::uint64_t& word : s) {
    word = scatter(counter);
    counter += 0x9E3779B97F4A7C15ULL;
  }
  const auto rotate = [](std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); };
  std::vector<std::uint64_t> outputs;
  for (int i = 0; i < count; ++i) {
    outputs.push_back(rotate(s[1] * 5, 7) * 9);
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
  }
  return outputs;
}

TEST(Random, IsXoshiro256StarStar) {
  Random random(7, 3);
  for (const std::uint64_t expected : expected_stream(7, 3, 100)) EXPECT_EQ(random.next(), expected);
}

TEST(Random, IsStable) {
  // A change here changes every schedule that was ever reproduced from a seed.
  Random random(1, 0);
  EXPECT_EQ(random.next(), 6954377618861975509ULL);
  EXPECT_EQ(random.next(), 16838045124790788659ULL);
  EXPECT_EQ(random.below(1000), 23U);
}

TEST(Random, StreamsDiffer) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (std::uint64_t stream = 0; stream < 50; ++stream) firsts.insert(Random(seed, stream).next());
  }
  EXPECT_EQ(firsts.size(), 2500U);
}

TEST(Random, BelowIsUniform) {
  Random random(2, 0);
  constexpr std::uint32_t bound = 7;
  constexpr int draws = 70'000;
  std::vector<int> counts(bound, 0);
  for (int i = 0; i < draws; ++i) {
    const std::uint32_t drawn = random.below(bound);
    ASSERT_LT(drawn, bound);
    ++counts[drawn];
  }
  // Six standard deviations of a binomial with p = 1/7.
  for (const int count : counts) EXPECT_NEAR(count, draws / 7, 6 * std::sqrt(draws / 7.0 * 6 / 7));
}

TEST(Random, BelowLargeBoundsRejects) {
  // Without rejection the first third would be drawn half of the time.
  Random random(3, 0);
  constexpr std::uint32_t bound = 3'000'000'000U;
  int low = 0;
  for (int i = 0; i < 30'000; ++i) low += random.below(bound) < bound / 3 ? 1 : 0;
  EXPECT_NEAR(low, 10'000, 6 * std::sqrt(30'000 * 2.0 / 9));
  EXPECT_EQ(random.below(1), 0U);
}

TEST(RandomDeathTest, BelowZeroIsABug) {
  Random random(1, 0);
  EXPECT_DEATH((void)random.below(0), "bound > 0");
}

TEST(Random, UnitIsBetweenZeroAndOne) {
  Random random(4, 0);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double drawn = random.unit();
    ASSERT_GE(drawn, 0.0);
    ASSERT_LT(drawn, 1.0);
    sum += drawn;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 6 / std::sqrt(12.0 * 10'000));
}

TEST(Random, NegativeLogUnitIsTheLogarithm) {
  Random logarithms(5, 0);
  Random uniforms(5, 0);
  double sum = 0;
  constexpr int draws = 200'000;
  for (int i = 0; i < draws; ++i) {
    const double drawn = logarithms.negative_log_unit();
    const double uniform = static_cast<double>(((uniforms.next() >> 12) << 1) | 1) * 0x1p-53;
    const double expected = -std::log(uniform);
    ASSERT_NEAR(drawn, expected, 1e-12) << uniform;
    ASSERT_GT(drawn, 0.0);
    sum += drawn;
  }
  // An exponential distribution has mean and deviation 1.
  EXPECT_NEAR(sum / draws, 1.0, 6 / std::sqrt(draws));
}

TEST(NegativeLog, IsTheLogarithmOverAllSizes) {
  Random random(6, 0);
  for (int exponent = 0; exponent >= -1022; --exponent)
    for (int draw = 0; draw < 20; ++draw) {
      const double x = std::ldexp(0.5 + random.unit() / 2, exponent > -1022 ? exponent : -1021);
      ASSERT_NEAR(negative_log(x), -std::log(x), 1e-12) << x;
    }
}

TEST(NegativeLog, IsTheLogarithmAtTableBoundaries) {
  for (int centre = 64; centre <= 128; ++centre)
    for (const double offset : {-0.5, 0.0, 0.5}) {
      const double middle = (centre + offset) / 128;
      for (const double x : {std::nextafter(middle, 0.0), middle, std::nextafter(middle, 1.0)}) {
        EXPECT_TRUE(x > 1 || std::abs(negative_log(x) + std::log(x)) <= 1e-12) << x;
      }
    }
  // Where the mantissa is halved.
  for (const double x : {std::nextafter(0.705, 0.0), 0.705, std::nextafter(0.705, 1.0), std::nextafter(0.3525, 1.0)})
    EXPECT_NEAR(negative_log(x), -std::log(x), 1e-12) << x;
}

TEST(NegativeLog, HandlesTheEndsOfItsRange) {
  EXPECT_EQ(negative_log(1), 0);
  EXPECT_GT(negative_log(std::nextafter(1.0, 0.0)), 0);
  EXPECT_NEAR(negative_log(std::nextafter(1.0, 0.0)), 0x1p-53, 1e-20);
  EXPECT_NEAR(negative_log(0x1p-1022), 1022 * std::log(2), 1e-12);
  EXPECT_NEAR(negative_log(0.5), std::log(2), 1e-15);
}

TEST(NegativeLog, IsMonotonic) {
  // Neighbours far closer than the pieces that it is made of, except for what rounding may swap.
  double last = negative_log(0x1p-10);
  for (int i = 1; i < 100'000; ++i) {
    const double x = 0x1p-10 + i * 0x1p-17;
    if (x > 1) break;
    const double value = negative_log(x);
    ASSERT_LT(value, last) << x;
    last = value;
  }
}

}  // namespace
}  // namespace dovetail::base
