#include "report/drawing/svg_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace dovetail::report {
namespace {

using testing::ElementsAre;

TEST(Axis, IsLinearForCloseValues) {
  const Axis axis = make_axis({100, 200}, 0, 1000, 6);
  EXPECT_FALSE(axis.logarithmic);
  EXPECT_THAT(axis.ticks, ElementsAre(100, 120, 140, 160, 180, 200));
  EXPECT_GT(axis.at(100), 0);
  EXPECT_LT(axis.at(200), 1000);
  EXPECT_NEAR(axis.at(150), 500, 1e-9);
}

TEST(Axis, CountsTheTicksAtBothEnds) {
  EXPECT_THAT(make_axis({0, 8}, 0, 1000, 10).ticks, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(make_axis({0, 8}, 0, 1000, 9).ticks, ElementsAre(0, 2, 4, 6, 8));
}

TEST(Axis, IsLogarithmicOverMoreThanAFactorOfFour) {
  const Axis axis = make_axis({10, 1000}, 0, 1000, 8);
  EXPECT_TRUE(axis.logarithmic);
  EXPECT_NEAR(axis.at(100), 500, 1e-9);
  EXPECT_THAT(axis.ticks, ElementsAre(10, 20, 50, 100, 200, 500, 1000));
  EXPECT_FALSE(make_axis({0, 1000}, 0, 1000, 8).logarithmic);
}

TEST(Axis, SupportsDescendingPixels) {
  const Axis axis = make_axis({1, 2}, 500, 100, 5);
  EXPECT_GT(axis.at(1), axis.at(2));
  EXPECT_EQ(axis.at(-100), 500);
  EXPECT_EQ(axis.at(100), 100);
}

TEST(Axis, HasAtMostTheRequestedRoundTicksInRange) {
  for (const std::int64_t least : {0LL, 1LL, 7LL, 372LL, 1'640'000LL, 999'999'999'999LL}) {
    for (const std::int64_t factor : {1LL, 2LL, 5LL, 40LL, 3000LL, 100'000LL}) {
      for (const int most : {2, 5, 9}) {
        const Axis axis = make_axis({least, least * factor + (factor > 1 ? 1 : 0)}, 0, 800, most);
        EXPECT_LE(axis.ticks.size(), static_cast<std::size_t>(most)) << least << " x " << factor;
        EXPECT_GE(axis.ticks.size(), 1U) << least << " x " << factor;
        for (const std::int64_t tick : axis.ticks) {
          EXPECT_GE(static_cast<double>(tick), axis.from);
          EXPECT_LE(static_cast<double>(tick), axis.to);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dovetail::report
