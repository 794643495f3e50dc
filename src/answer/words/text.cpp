#include "answer/words/text.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace dovetail::answer {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Rejects characters that a terminal interprets or XML 1.0 forbids.
bool is_printable(std::string_view code_point) {
  return !base::has_controls(code_point) && code_point != "\xEF\xBF\xBE" && code_point != "\xEF\xBF\xBF";
}

}  // namespace

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (const char byte : text) {
    if (!is_continuation(byte)) ++count;
  }
  return count;
}

std::string clean_text(std::string_view text) {
  std::string clean;
  while (!text.empty()) {
    const std::size_t length = base::utf8_length(text);
    const bool keep = length > 0 && is_printable(text.substr(0, length));
    clean += keep ? text.substr(0, length) : replacement;
    text.remove_prefix(length > 0 ? length : 1);
  }
  return clean;
}

std::string ascii_text(std::string_view text) {
  std::string ascii;
  for (const char byte : clean_text(text)) {
    if (is_continuation(byte)) continue;
    ascii += static_cast<unsigned char>(byte) < 0x80 ? byte : '?';
  }
  return ascii;
}

std::string shorten(std::string_view text, std::size_t width, std::string_view ellipsis) {
  if (count_code_points(text) <= width) return std::string(text);
  if (count_code_points(ellipsis) > width) ellipsis = "";
  const std::size_t kept = width - count_code_points(ellipsis);
  std::size_t bytes = 0;
  for (std::size_t seen = 0; bytes < text.size(); ++bytes) {
    if (!is_continuation(text[bytes]) && seen++ == kept) break;
  }
  return std::string(text.substr(0, bytes)) + std::string(ellipsis);
}

std::string counted(std::int64_t number, std::string_view noun) {
  const std::string_view ending = number == 1 ? "" : noun.ends_with("ch") ? "es" : "s";
  return fmt::format("{} {}{}", number, noun, ending);
}

std::string escape_xml(std::string_view text) {
  std::string escaped;
  for (const char byte : clean_text(text)) {
    switch (byte) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += byte;
    }
  }
  return escaped;
}

}  // namespace dovetail::answer
