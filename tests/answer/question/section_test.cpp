#include "answer/question/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dovetail::answer {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(Sections, MergeAdjacentTexts) {
  const Sections all = std::string("one\n") + Table{{{"a"}}, {{"1"}}} + "two\n" + std::string("three\n");
  ASSERT_THAT(all.all(), SizeIs(3));
  EXPECT_EQ(std::get<Text>(all.all()[0]).lines, "one\n");
  EXPECT_EQ(std::get<Table>(all.all()[1]).rows[0][0], "1");
  EXPECT_EQ(std::get<Text>(all.all()[2]).lines, "two\nthree\n");
}

TEST(Sections, IgnoreEmptyTexts) {
  Sections all = "";
  EXPECT_THAT(all.all(), IsEmpty());
  all += "";
  EXPECT_TRUE(all.empty());
  all += Sections(Table{{{"a"}}, {}}) + "";
  EXPECT_THAT(all.all(), SizeIs(1));
}

}  // namespace
}  // namespace dovetail::answer
