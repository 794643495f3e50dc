// The characters of UTF-8 text, one by one.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::text {

/// The character at the start of `text`, which has `length` bytes. REQUIRES: `text` is UTF-8 and not empty.
struct Character {
  char32_t code = 0;
  std::size_t length = 0;
};
Character first_character(std::string_view text);

/// Adds the character as UTF-8.
void append_utf8(std::string& text, char32_t code);

/// Whether it is a number of some writing (Unicode's category N).
bool is_number(char32_t code);
/// Whether it is Unicode's White_Space.
bool is_white_space(char32_t code);
/// Whether it is a letter, mark, number, joining punctuation, joiner or letter in a circle: \w of tokenizers.
bool is_word(char32_t code);

/// Unicode's normalization form C. REQUIRES: `text` is UTF-8.
std::string to_nfc(std::string_view text);

/// `bytes` as UTF-8: what is none becomes U+FFFD, one for each longest part that a character could have begun with
/// (Unicode 15, section 3.9, "substitution of maximal subparts").
std::string to_valid_utf8(std::string_view bytes);

/// The text with each of its bytes as its character: "a b" becomes "aĠb".
std::string to_byte_characters(std::string_view bytes);

/// The bytes that the characters stand for; nothing where one of them stands for none.
std::optional<std::string> from_byte_characters(std::string_view characters);

}  // namespace dovetail::text
