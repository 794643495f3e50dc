#include "base/utf8.h"

#include <gtest/gtest.h>

#include "base/document.h"

namespace dovetail::base {
namespace {

TEST(Utf8, ReturnsTheLengthOfACharacter) {
  EXPECT_EQ(utf8_length("a"), 1U);
  EXPECT_EQ(utf8_length("\xC3\xA9"), 2U);
  EXPECT_EQ(utf8_length("\xE2\x82\xAC"), 3U);
  EXPECT_EQ(utf8_length("\xF0\x9F\x98\x80"), 4U);
  EXPECT_EQ(utf8_length(std::string_view("\0", 1)), 1U);
}

TEST(Utf8, RejectsInvalidCharacters) {
  const char* broken[] = {"",
                          "\x80",
                          "\xC3",
                          "\xC3(",
                          "\xC0\x80",
                          "\xE0\x80\x80",
                          "\xED\xA0\x80",
                          "\xE2\x82",
                          "\xF0\x80\x80\x80",
                          "\xF4\x90\x80\x80",
                          "\xFF"};
  for (const char* text : broken) EXPECT_EQ(utf8_length(text), 0U) << text;
}

TEST(Visible, EscapesControlCharacters) {
  EXPECT_EQ(visible("actor \xE2\x82\xAC"), "actor \xE2\x82\xAC");
  EXPECT_EQ(visible("a\x1B[31m\x07\x7F"), R"(a\u001B[31m\u0007\u007F)");
  EXPECT_EQ(visible("\xC2\x9B\xE2\x80\xAE\xE2\x80\xA8\xD8\x9C\xE2\x81\xA9"), R"(\u009B\u202E\u2028\u061C\u2069)");
  EXPECT_EQ(visible("a\x9B\xFF"), R"(a\x9B\xFF)");
  EXPECT_EQ(visible("a\n\t\r", "\n\t"), "a\n\t\\u000D");
}

TEST(Visible, HasNoControls) {
  for (char32_t code = 0; code < 0x3000; ++code) {
    std::string text;
    if (code < 0x80) {
      text += static_cast<char>(code);
    } else if (code < 0x800) {
      text += {static_cast<char>(0xC0U | (code >> 6U)), static_cast<char>(0x80U | (code & 0x3FU))};
    } else {
      text += {static_cast<char>(0xE0U | (code >> 12U)), static_cast<char>(0x80U | ((code >> 6U) & 0x3FU)),
               static_cast<char>(0x80U | (code & 0x3FU))};
    }
    EXPECT_EQ(has_controls(text), is_control(code)) << static_cast<unsigned>(code);
    EXPECT_EQ(visible(text) != text, is_control(code)) << static_cast<unsigned>(code);
    EXPECT_FALSE(has_controls(visible(text))) << static_cast<unsigned>(code);
  }
  EXPECT_TRUE(has_controls("\x80"));
}

TEST(JsonString, Escapes) {
  EXPECT_EQ(json_string("actor"), "\"actor\"");
  EXPECT_EQ(json_string("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(json_string("a\nb\x7F"), R"("a\u000Ab\u007F")");
  EXPECT_EQ(json_string("\xC2\x85\xE2\x80\xA8\xEF\xBB\xBF"), R"("\u0085\u2028\uFEFF")");
  EXPECT_EQ(json_string("\xE2\x82\xAC"), "\"\xE2\x82\xAC\"");
  EXPECT_EQ(json_string("\xFFx"), "\"\xEF\xBF\xBDx\"");
}

TEST(JsonString, RoundTripsThroughJsonAndYaml) {
  const std::string text = "a \"b\" \\ \xC2\x85 \xE2\x80\xA8 \xEF\xBB\xBF : # \xF0\x9F\x98\x80 \t\n";
  EXPECT_EQ(parse_json(json_string(text), "x")->root().text(), text);
  EXPECT_EQ(parse_yaml(json_string(text), "x")->root().text(), text);
}

TEST(JsonObject, SeparatesItsMembers) {
  JsonObject object;
  EXPECT_TRUE(object.empty());
  EXPECT_EQ(object.text(), "{}");
  object.add("a", "1");
  object.add("b", "[2, 3]");
  EXPECT_FALSE(object.empty());
  EXPECT_EQ(object.members(), R"("a": 1, "b": [2, 3])");
  EXPECT_EQ(object.text(), R"({"a": 1, "b": [2, 3]})");
}

}  // namespace
}  // namespace dovetail::base
