// Characters of UTF-8 text: classification, normalization, and GPT-2's alphabet for bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace dovetail::text {

/// A character and its length in bytes.
struct Character {
  char32_t code = 0;
  std::size_t length = 0;
};
/// Returns the first character of `text`. REQUIRES: `text` is UTF-8 and not empty.
Character first_character(std::string_view text);

/// Appends the character as UTF-8.
void append_utf8(std::string& text, char32_t code);

/// Whether the character is a number character of any script (Unicode category N).
bool is_number(char32_t code);
/// Whether the character has Unicode's White_Space property.
bool is_white_space(char32_t code);
/// Whether the character is a word character, \w of tokenizers: a letter, mark, decimal digit, letter number (such as a
/// Roman numeral), connector punctuation, joiner or circled letter.
bool is_word(char32_t code);

/// Returns Unicode normalization form C. REQUIRES: `text` is UTF-8.
std::string to_nfc(std::string_view text);

/// Returns `bytes` as UTF-8. Each maximal invalid subpart becomes one U+FFFD (Unicode 15, section 3.9, "substitution of
/// maximal subparts").
std::string to_valid_utf8(std::string_view bytes);

// GPT-2's alphabet has a visible character for each byte (Radford et al. 2019; encoder.py of openai/gpt-2).

/// Replaces each byte by its character: "a b" becomes "aĠb".
std::string to_byte_characters(std::string_view bytes);

/// Returns the bytes that the characters represent; nullopt if one of them represents no byte.
std::optional<std::string> from_byte_characters(std::string_view characters);

}  // namespace dovetail::text
