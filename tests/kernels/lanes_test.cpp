#include "kernels/lanes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dovetail::kernels {
namespace {

TEST(Exponential, IsWithinTwoUnitsOfTheLastPlace) {
  double worst = 0;
  for (float x = -87; x < 88; x = std::nextafter(x + 1e-5F, 100.0F)) {
    const double expected = std::exp(static_cast<double>(x));
    const auto near = static_cast<float>(expected);
    const auto unit =
        static_cast<double>(std::nextafter(near, std::numeric_limits<float>::infinity())) - static_cast<double>(near);
    worst = std::max(worst, std::abs(static_cast<double>(exponential(x)) - expected) / unit);
  }
  EXPECT_LT(worst, 2);
  EXPECT_GT(worst, 0);
}

TEST(Exponential, SaturatesAtTheEnds) {
  EXPECT_EQ(exponential(0.0F), 1);
  EXPECT_EQ(exponential(-0.0F), 1);
  EXPECT_EQ(exponential(-1000.0F), 0);
  EXPECT_EQ(exponential(-std::numeric_limits<float>::infinity()), 0);
  EXPECT_GT(exponential(-87.0F), 0);
  EXPECT_EQ(exponential(1000.0F), exponential(88.0F));
  EXPECT_EQ(exponential(-2.5), std::exp(-2.5));
}

}  // namespace
}  // namespace dovetail::kernels
