#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>

#include "base/assert.h"
#include "base/utf8.h"

namespace dovetail::text {
namespace {

unsigned char byte_at(std::string_view text, std::size_t index) { return static_cast<unsigned char>(text[index]); }

/// Returns the length of the maximal subpart of a character at the start of invalid `text`; at least 1.
std::size_t subpart_length(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  const std::size_t wanted = first >= 0xF0 && first <= 0xF4  ? 4
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xC2 && first < 0xE0 ? 2
                                                             : 1;
  // The second byte has tighter limits: no surrogates, no overlong encodings, nothing beyond U+10FFFF.
  const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  std::size_t length = 1;
  while (length < wanted && length < text.size()) {
    const unsigned char next = byte_at(text, length);
    const bool fits = length == 1 ? next >= least && next <= most : next >= 0x80 && next <= 0xBF;
    if (!fits) break;
    ++length;
  }
  return length;
}

}  // namespace

Character first_character(std::string_view text) {
  utf8proc_int32_t code = 0;
  const utf8proc_ssize_t length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                   static_cast<utf8proc_ssize_t>(text.size()), &code);
  DOVETAIL_ASSERT(length > 0);
  return {static_cast<char32_t>(code), static_cast<std::size_t>(length)};
}

void append_utf8(std::string& text, char32_t code) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t length = utf8proc_encode_char(static_cast<utf8proc_int32_t>(code), bytes);
  text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(length));
}

bool is_number(char32_t code) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_NO;
}

bool is_white_space(char32_t code) {
  return (code >= 0x09 && code <= 0x0D) || code == 0x20 || code == 0x85 || code == 0xA0 || code == 0x1680 ||
         (code >= 0x2000 && code <= 0x200A) || code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F ||
         code == 0x3000;
}

bool is_word(char32_t code) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(code));
  const bool is_letter_in_circle = code >= 0x24B6 && code <= 0x24E9;
  const bool is_joiner = code == 0x200C || code == 0x200D;
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) || category == UTF8PROC_CATEGORY_PC ||
         is_letter_in_circle || is_joiner;
}

std::string to_nfc(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), [](char each) { return static_cast<unsigned char>(each) < 0x80; }))
    return std::string(text);
  utf8proc_uint8_t* mapped = nullptr;
  const utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &mapped, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(mapped, std::free);
  DOVETAIL_ASSERT(length >= 0);
  return {reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(length)};
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    std::size_t length = base::utf8_length(bytes);
    if (length > 0) {
      text.append(bytes.substr(0, length));
    } else {
      length = subpart_length(bytes);
      append_utf8(text, 0xFFFD);
    }
    bytes.remove_prefix(length);
  }
  return text;
}

namespace {

constexpr std::size_t byte_values = 256;

constexpr bool is_visible(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// A visible byte maps to the character with its number, the others to U+0100 and up.
constexpr std::array<char32_t, byte_values> characters = [] {
  std::array<char32_t, byte_values> all{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < byte_values; ++byte) all[byte] = is_visible(byte) ? byte : next++;
  return all;
}();

constexpr std::size_t code_count = 0x144;  // the largest character plus one

/// [character] its byte; -1 for other characters.
constexpr std::array<int, code_count> bytes_of_characters = [] {
  std::array<int, code_count> all{};
  all.fill(-1);
  for (unsigned byte = 0; byte < byte_values; ++byte) all[characters[byte]] = static_cast<int>(byte);
  return all;
}();

}  // namespace

std::string to_byte_characters(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) append_utf8(text, characters[static_cast<unsigned char>(byte)]);
  return text;
}

std::optional<std::string> from_byte_characters(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const auto [code, length] = first_character(text);
    if (code >= code_count || bytes_of_characters[code] < 0) return std::nullopt;
    bytes += static_cast<char>(bytes_of_characters[code]);
    text.remove_prefix(length);
  }
  return bytes;
}

}  // namespace dovetail::text
