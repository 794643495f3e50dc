// Heats, prices and lengths of coolings.
#include "fuse/search/heat.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace dovetail::fuse {
namespace {

TEST(MakespanCoolings, DoubleUntilTheIterationsAreUsed) {
  EXPECT_EQ(makespan_coolings(10, 100'000), (std::vector<std::int64_t>{10'000, 20'000, 70'000}));
  EXPECT_EQ(makespan_coolings(10, 19'999), (std::vector<std::int64_t>{19'999}));
  EXPECT_EQ(makespan_coolings(10, 5), (std::vector<std::int64_t>{5}));
  EXPECT_TRUE(makespan_coolings(10, 0).empty());
  for (const std::int64_t iterations : {1, 10'000, 30'000, 69'999, 70'000, 1'234'567}) {
    const auto lengths = makespan_coolings(10, iterations);
    EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}), iterations);
  }
}

TEST(LimitedMakespanDescent, EveryFourthTurnHasAPriceThatRises) {
  const Scale scale{100, 2'000'000};
  constexpr std::int64_t steps = 1'000;
  for (std::size_t turn = 0; turn < 12; ++turn) {
    const MakespanDescent descent = limited_makespan_descent(scale, turn, steps * Cooling::iterations_a_step);
    if (turn % 4 != 3) {
      EXPECT_EQ(descent.price, 0);
      EXPECT_EQ(descent.cooling.temperature,
                makespan_descent(scale, turn, steps * Cooling::iterations_a_step).cooling.temperature);
      continue;
    }
    EXPECT_GT(descent.price, 0);
    const double last = descent.price * std::pow(descent.price_factor, static_cast<double>(steps));
    EXPECT_GT(last, 9 * descent.price);
    EXPECT_LT(last * scale.memory, 11 * scale.time) << "in the end one excess activation costs the time of several ops";
  }
}

}  // namespace
}  // namespace dovetail::fuse
