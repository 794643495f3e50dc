#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>

namespace dovetail::base {
namespace {

Result<int> half_of(int number) {
  if (number % 2 != 0) return bad_input("is odd");
  return number / 2;
}

Result<int> quarter_of(int number) {
  DOVETAIL_TRY(const int half, half_of(number));
  return half_of(half);
}

Status check_even(int number) {
  DOVETAIL_CHECK(half_of(number).ok() ? Status() : Status(bad_input("is odd")));
  return {};
}

TEST(Error, TextOmitsUnknownParts) {
  EXPECT_EQ(to_text({Failure::bad_input, "a.yaml", 3, 7, "wrong"}), "a.yaml:3:7: wrong");
  EXPECT_EQ(to_text({Failure::bad_input, "a.yaml", 3, 0, "wrong"}), "a.yaml:3: wrong");
  EXPECT_EQ(to_text({Failure::io, "a.yaml", 0, 0, "wrong"}), "a.yaml: wrong");
  EXPECT_EQ(to_text(bad_input("wrong")), "wrong");
  EXPECT_EQ(bad_input("wrong").failure, Failure::bad_input);
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_EQ(quarter_of(12).value(), 3);
  EXPECT_EQ(quarter_of(7).error().message, "is odd");
  EXPECT_EQ(quarter_of(6).error().message, "is odd");
  EXPECT_TRUE(quarter_of(12));
  EXPECT_FALSE(quarter_of(6));
}

TEST(Result, MovesItsValueOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 5);
}

TEST(Status, IsSuccessOrAnError) {
  EXPECT_TRUE(check_even(2).ok());
  EXPECT_EQ(check_even(3).error().message, "is odd");
}

TEST(ResultDeathTest, AccessingTheAbsentSideAborts) {
  EXPECT_DEATH((void)half_of(1).value(), "internal error: assertion `ok\\(\\)` failed at .*result.h:[0-9]+");
  EXPECT_DEATH((void)half_of(2).error(), "internal error: assertion `!ok\\(\\)` failed at .*result.h:[0-9]+");
  EXPECT_DEATH((void)Status().error(), "internal error");
}

}  // namespace
}  // namespace dovetail::base
