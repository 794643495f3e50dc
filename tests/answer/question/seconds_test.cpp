#include "answer/question/seconds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dovetail::answer {
namespace {

TEST(Seconds, HaveUnits) {
  EXPECT_EQ(parse_seconds("30").value(), 30);
  EXPECT_EQ(parse_seconds("1.5m").value(), 90);
  EXPECT_EQ(parse_seconds("500ms").value(), 0.5);
  EXPECT_EQ(parse_seconds("2h").value(), 7200);
}

TEST(Seconds, MustBePositive) {
  for (const char* text : {"", "0", "-1s", "5 m", "5x", "s", "1e9"}) {
    const auto seconds = parse_seconds(text);
    ASSERT_FALSE(seconds.ok()) << text;
    EXPECT_THAT(seconds.error().message, testing::HasSubstr("is not a duration; accepted: more than 0")) << text;
  }
}

}  // namespace
}  // namespace dovetail::answer
