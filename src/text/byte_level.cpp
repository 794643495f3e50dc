#include "text/byte_level.h"

#include <array>
#include <cstddef>

#include "text/unicode.h"

namespace dovetail::text {
namespace {

constexpr std::size_t byte_count = 256;

constexpr bool is_visible(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// Visible bytes are the characters of their own number, the others U+0100 and on.
constexpr std::array<char32_t, byte_count> characters = [] {
  std::array<char32_t, byte_count> all{};
  char32_t next = 0x100;
  for (unsigned byte = 0; byte < byte_count; ++byte) all[byte] = is_visible(byte) ? byte : next++;
  return all;
}();

constexpr std::size_t code_count = 0x144;  // one more than the largest character

/// [character] its byte; -1 where it has none.
constexpr std::array<int, code_count> bytes_of_characters = [] {
  std::array<int, code_count> all{};
  all.fill(-1);
  for (unsigned byte = 0; byte < byte_count; ++byte) all[characters[byte]] = static_cast<int>(byte);
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
