#include "fuse/annealing/cooling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace dovetail::fuse {
namespace {

TEST(RootOf, IsTheRoot) {
  for (const double ratio : {0.999, 0.5, 0.2, 0.05, 1e-6})
    for (const std::int64_t n : {1, 2, 3, 7, 64, 1'000, 100'000}) {
      const double root = root_of(ratio, n);
      EXPECT_GT(root, 0);
      EXPECT_LT(root, 1);
      EXPECT_NEAR(root, std::pow(ratio, 1.0 / static_cast<double>(n)), 1e-13) << ratio << ", " << n;
    }
}

TEST(RootOf, DecreasesEvenForManySteps) {
  // As many steps as a billion times a billion proposals have. That is too many for a double to decrease in each step,
  // but the error must not be larger than that.
  const double root = root_of(0.05, std::int64_t{1} << 50);
  EXPECT_GT(root, 1 - 1e-13);
  EXPECT_LE(root, 1);
}

TEST(Cooling, EndsAtItsEnd) {
  for (const std::int64_t steps : {1, 10, 1'000, 50'000}) {
    Cooling cooling(8, 0.4, steps * Cooling::iterations_a_step);
    EXPECT_EQ(cooling.temperature, 8);
    for (std::int64_t step = 0; step < steps; ++step) cooling.temperature *= cooling.factor;
    EXPECT_NEAR(cooling.temperature, 0.4, 1e-9) << steps;
  }
}

TEST(Cooling, FallsInEqualRatios) {
  const Cooling cooling(2, 0.5, 2 * Cooling::iterations_a_step);
  EXPECT_NEAR(cooling.factor, 0.5, 1e-14);
}

TEST(Cooling, ShorterThanAStepIsOneStep) {
  EXPECT_NEAR(Cooling(4, 1, 0).factor, 0.25, 1e-14);
  EXPECT_NEAR(Cooling(4, 1, 1).factor, 0.25, 1e-14);
  EXPECT_NEAR(Cooling(4, 1, Cooling::iterations_a_step - 1).factor, 0.25, 1e-14);
}

TEST(MetropolisTable, HasTheLogarithms) {
  const MetropolisTable table;
  double sum = 0;
  for (std::uint64_t i = 0; i < MetropolisTable::size; ++i) {
    const double expected = -std::log((static_cast<double>(i) + 0.5) / static_cast<double>(MetropolisTable::size));
    EXPECT_NEAR(table[i], expected, 1e-12);
    EXPECT_GT(table[i], 0);
    EXPECT_TRUE(i == 0 || table[i] < table[i - 1]) << i;
    sum += table[i];
  }
  // An exponential distribution has mean 1.
  EXPECT_NEAR(sum / static_cast<double>(MetropolisTable::size), 1, 1e-3);
}

TEST(MetropolisTable, UsesTheLowBits) {
  const MetropolisTable& table = metropolis_table();
  EXPECT_EQ(&table, &metropolis_table());
  EXPECT_EQ(table[5], table[5 + 3 * MetropolisTable::size]);
  EXPECT_EQ(table[~std::uint64_t{0}], table[MetropolisTable::size - 1]);
}

}  // namespace
}  // namespace dovetail::fuse
