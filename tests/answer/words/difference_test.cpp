#include "answer/words/difference.h"

#include <gtest/gtest.h>

#include <string>

namespace dovetail::answer {
namespace {

TEST(Difference, IsOfTheLinesThatChanged) {
  EXPECT_EQ(difference_of("a\nb\nc\n", "a\nx\nc\n"), "- b\n+ x\n");
  EXPECT_EQ(difference_of("a\nb\nc\nd\n", "b\nd\ne\n"), "- a\n- c\n+ e\n");
  EXPECT_EQ(difference_of("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(difference_of("", "a"), "+ a\n");
}

TEST(Difference, OfVeryLongTextsIsAllThatLiesBetween) {
  std::string before = "same\n";
  std::string after = "same\n";
  for (int line = 0; line < 3000; ++line) {
    before += "b" + std::to_string(line) + "\n";
    after += "a" + std::to_string(line) + "\n";
  }
  const std::string text = difference_of(before, after);
  EXPECT_TRUE(text.starts_with("- b0\n- b1\n"));
  EXPECT_TRUE(text.ends_with("+ a2998\n+ a2999\n"));
}

}  // namespace
}  // namespace dovetail::answer
