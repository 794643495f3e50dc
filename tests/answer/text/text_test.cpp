#include "answer/text/text.h"

#include <gtest/gtest.h>

#include <string>

namespace dovetail::answer {
namespace {

constexpr const char* replaced = "\xEF\xBF\xBD";

TEST(Text, CountsCodePoints) {
  EXPECT_EQ(count_code_points(""), 0U);
  EXPECT_EQ(count_code_points("abc"), 3U);
  EXPECT_EQ(count_code_points("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"), 3U);
}

TEST(Text, ReplacesControlCharactersAndBrokenUtf8) {
  EXPECT_EQ(clean_text("r\xC3\xA9ward \xE2\x82\xAC \xF0\x9F\x98\x80"), "r\xC3\xA9ward \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(clean_text("a\x1b[31m"), std::string("a") + replaced + "[31m");
  EXPECT_EQ(clean_text("\n"), replaced);
  EXPECT_EQ(clean_text("\x7F"), replaced);
  EXPECT_EQ(clean_text("\xC2\x9B"), replaced) << "a control character of two bytes";
  EXPECT_EQ(clean_text("\xFFz"), std::string(replaced) + "z");
  EXPECT_EQ(clean_text("\xC0\xAF"), std::string(replaced) + replaced) << "an overlong form";
  EXPECT_EQ(clean_text("\xE0\x80\xAF").find('/'), std::string::npos);
  EXPECT_EQ(clean_text("\xED\xA0\x80").substr(0, 3), replaced) << "a surrogate";
  EXPECT_EQ(clean_text("\xE2\x82"), std::string(replaced) + replaced) << "cut off";
  EXPECT_EQ(clean_text("\xEF\xBF\xBF").substr(0, 3), replaced) << "no character in XML";
}

TEST(Text, MakesAscii) { EXPECT_EQ(ascii_text("r\xC3\xA9w\x1b!\xFF"), "r?w?!?"); }

TEST(Text, Shortens) {
  EXPECT_EQ(shorten("actor", 5, ".."), "actor");
  EXPECT_EQ(shorten("actors", 5, ".."), "act..");
  EXPECT_EQ(shorten("\xC3\xA9\xC3\xA9\xC3\xA9", 2, "\xE2\x80\xA6"), "\xC3\xA9\xE2\x80\xA6");
  EXPECT_EQ(shorten("actor", 1, ".."), "a");
  EXPECT_EQ(shorten("actor", 0, ".."), "");
}

TEST(Text, EscapesXml) { EXPECT_EQ(escape_xml("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;'"); }

TEST(Counted, UsesThePlural) {
  EXPECT_EQ(counted(1, "device"), "1 device");
  EXPECT_EQ(counted(0, "op"), "0 ops");
  EXPECT_EQ(counted(2, "micro-batch"), "2 micro-batches");
  EXPECT_EQ(counted(1, "micro-batch"), "1 micro-batch");
  EXPECT_EQ(counted(3, "epoch"), "3 epochs");
}

TEST(Difference, ListsChangedLines) {
  EXPECT_EQ(difference_of("a\nb\nc\n", "a\nx\nc\n"), "- b\n+ x\n");
  EXPECT_EQ(difference_of("a\nb\nc\nd\n", "b\nd\ne\n"), "- a\n- c\n+ e\n");
  EXPECT_EQ(difference_of("a\nb\n", "a\nb\n"), "");
  EXPECT_EQ(difference_of("", "a"), "+ a\n");
}

TEST(Difference, ListsAllLinesBetweenDistantChanges) {
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
