#include "kernels/rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "kernels/exponential.h"

namespace dovetail::kernels {
namespace {

std::vector<float> random_numbers(std::size_t count, std::uint64_t seed, double range = 1) {
  base::Random random(seed, 0);
  std::vector<float> numbers;
  while (numbers.size() < count) numbers.push_back(static_cast<float>(range * (2 * random.unit() - 1)));
  return numbers;
}

TEST(Exponential, IsNearTheLibrarys) {
  for (float x = -87; x < 88; x += 0.00137F) {
    const double expected = std::exp(static_cast<double>(x));
    ASSERT_NEAR(static_cast<double>(exponential(x)) / expected, 1, 3e-7) << x;
  }
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(exponential(-1000), 0);
  EXPECT_EQ(exponential(-std::numeric_limits<float>::infinity()), 0);
  EXPECT_TRUE(std::isfinite(exponential(1000)));
}

TEST(Rows, AreNormalizedEachByItself) {
  for (const std::int64_t size : {1, 7, 8, 33, 576}) {
    constexpr std::int64_t rows = 5;
    const std::vector<float> x = random_numbers(static_cast<std::size_t>(rows * size), 1, 10);
    const std::vector<float> scale = random_numbers(static_cast<std::size_t>(size), 2);
    std::vector<float> out(x.size());
    normalize(x.data(), scale.data(), rows, size, 1e-5, out.data());
    for (std::int64_t row = 0; row < rows; ++row) {
      double squares = 0;
      for (std::int64_t i = 0; i < size; ++i)
        squares += std::pow(static_cast<double>(x[static_cast<std::size_t>(row * size + i)]), 2);
      const double root = std::sqrt(squares / static_cast<double>(size) + 1e-5);
      std::vector<float> alone(static_cast<std::size_t>(size));
      normalize(x.data() + row * size, scale.data(), 1, size, 1e-5, alone.data());
      for (std::int64_t i = 0; i < size; ++i) {
        const auto at = static_cast<std::size_t>(row * size + i);
        EXPECT_NEAR(static_cast<double>(out[at]),
                    static_cast<double>(x[at]) / root * static_cast<double>(scale[static_cast<std::size_t>(i)]), 1e-6);
        EXPECT_EQ(out[at], alone[static_cast<std::size_t>(i)]);
      }
    }
  }
}

TEST(Rows, TurnPairsByTheirAngles) {
  constexpr std::int64_t heads = 3;
  constexpr std::int64_t size = 10;
  const std::vector<float> before = random_numbers(heads * size, 3);
  std::vector<float> cosines;
  std::vector<float> sines;
  for (int i = 0; i < size / 2; ++i) {
    cosines.push_back(std::cos(static_cast<float>(i)));
    sines.push_back(std::sin(static_cast<float>(i)));
  }
  std::vector<float> after = before;
  rotate(after.data(), heads, size, cosines.data(), sines.data());
  for (std::size_t head = 0; head < heads; ++head)
    for (std::size_t i = 0; i < size / 2; ++i) {
      const std::size_t first = head * size + i;
      const std::size_t second = first + size / 2;
      EXPECT_NEAR(after[first], before[first] * cosines[i] - before[second] * sines[i], 1e-6);
      EXPECT_NEAR(after[second], before[second] * cosines[i] + before[first] * sines[i], 1e-6);
    }
}

TEST(Rows, AreGated) {
  const std::vector<float> gates = random_numbers(1003, 4, 60);
  const std::vector<float> up = random_numbers(1003, 5);
  std::vector<float> out = gates;
  gate(out.data(), up.data(), 1003);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto x = static_cast<double>(gates[i]);
    EXPECT_NEAR(static_cast<double>(out[i]), x / (1 + std::exp(-x)) * static_cast<double>(up[i]),
                2e-6 * (1 + std::abs(x)));
    float alone = gates[i];
    gate(&alone, &up[i], 1);
    EXPECT_EQ(out[i], alone);
  }
}

}  // namespace
}  // namespace dovetail::kernels
