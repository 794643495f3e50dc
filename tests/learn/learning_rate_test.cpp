#include "learn/learning_rate.h"

#include <gtest/gtest.h>

namespace dovetail::learn {
namespace {

TEST(RatePart, WarmsUpAndFalls) {
  EXPECT_DOUBLE_EQ(rate_part(RateShape::constant, 4, 0, 0, 100), 0.2);
  EXPECT_DOUBLE_EQ(rate_part(RateShape::constant, 4, 0, 3, 100), 0.8);
  EXPECT_EQ(rate_part(RateShape::constant, 4, 0, 4, 100), 1);
  EXPECT_EQ(rate_part(RateShape::constant, 4, 0, 99, 100), 1);
  for (const RateShape shape : {RateShape::linear, RateShape::cosine}) {
    EXPECT_EQ(rate_part(shape, 10, 0.1, 10, 111), 1);
    EXPECT_DOUBLE_EQ(rate_part(shape, 10, 0.1, 60, 111), 0.55);
    EXPECT_NEAR(rate_part(shape, 10, 0.1, 110, 111), 0.1, 1e-12);
    EXPECT_NEAR(rate_part(shape, 10, 0.1, 500, 111), 0.1, 1e-12) << "a run beyond its last step";
    EXPECT_EQ(rate_part(shape, 0, 0.1, 0, 1), 1) << "a run of one step";
  }
  EXPECT_GT(rate_part(RateShape::cosine, 0, 0, 25, 101), rate_part(RateShape::linear, 0, 0, 25, 101));
}

}  // namespace
}  // namespace dovetail::learn
