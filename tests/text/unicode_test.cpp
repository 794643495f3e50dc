#include "text/unicode.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"

namespace dovetail::text {
namespace {

/// The table of Unicode 15, section 3.9, and results of decoders in other languages.
TEST(ToValidUtf8, ReplacesMaximalSubparts) {
  EXPECT_EQ(to_valid_utf8("abc é 😀"), "abc é 😀");
  EXPECT_EQ(to_valid_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"), "a���b�c��d");
  EXPECT_EQ(to_valid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), "��������A");
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80\xF4\x91\x92\x93\xFF"), "��������");
  EXPECT_EQ(to_valid_utf8("\xE6\x97"), "�");
  EXPECT_EQ(to_valid_utf8(""), "");
}

TEST(Categories, MatchUnicode) {
  for (const char32_t number : {U'0', U'½', U'Ⅳ', U'٣'}) EXPECT_TRUE(is_number(number)) << static_cast<int>(number);
  EXPECT_FALSE(is_number(U'a'));
  for (const char32_t word : {U'a', U'_', U'é', U'日', U'7', U'\u200d', U'Ⓐ'})
    EXPECT_TRUE(is_word(word)) << static_cast<int>(word);
  for (const char32_t other : {U' ', U'-', U'.'}) EXPECT_FALSE(is_word(other));
  for (const char32_t blank : {U' ', U'\n', U'\u00a0', U'\u3000', U'\u0085'}) EXPECT_TRUE(is_white_space(blank));
  EXPECT_FALSE(is_white_space(U'\u200b'));
  EXPECT_FALSE(is_white_space(U'\u180e'));
}

TEST(ToNfc, Composes) {
  EXPECT_EQ(to_nfc("e\u0301"), "é");
  EXPECT_EQ(to_nfc("plain"), "plain");
}

RC_GTEST_PROP(ByteCharacters, RoundTripAllBytes, ()) {
  const auto bytes = *rc::gen::arbitrary<std::string>();
  const std::string characters = to_byte_characters(bytes);
  RC_ASSERT(base::check_characters(characters, "t").ok());
  RC_ASSERT(from_byte_characters(characters) == bytes);
}

TEST(ByteCharacters, AreNotAllCharacters) { EXPECT_EQ(from_byte_characters("a b"), std::nullopt); }

}  // namespace
}  // namespace dovetail::text
