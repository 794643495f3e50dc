#include "base/assert.h"

#include <gtest/gtest.h>

namespace dovetail::base {
namespace {

TEST(Assert, AcceptsTrue) {
  int evaluations = 0;
  DOVETAIL_ASSERT(++evaluations == 1);
  EXPECT_EQ(evaluations, 1);
}

TEST(AssertDeathTest, NamesTheConditionAndItsPlaceInEveryBuild) {
  const int two = 2;
  EXPECT_DEATH(DOVETAIL_ASSERT(two == 3), "internal error: assertion `two == 3` failed at .*assert_test.cpp:[0-9]+");
}

}  // namespace
}  // namespace dovetail::base
