#include "answer/text/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/utf8.h"

namespace dovetail::answer {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// Rejects characters that a terminal interprets or XML 1.0 forbids.
bool is_printable(std::string_view code_point) {
  return !base::has_controls(code_point) && code_point != "\xEF\xBF\xBE" && code_point != "\xEF\xBF\xBF";
}

using Lines = std::span<const std::string_view>;

/// Max pairs of lines that are compared; the table takes 16 MB.
constexpr std::size_t max_pairs = 4'000'000;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// [i][j] length of the longest common subsequence of a[i...] and b[j...].
std::vector<std::vector<int>> common_lines(Lines a, Lines b) {
  std::vector<std::vector<int>> common(a.size() + 1, std::vector<int>(b.size() + 1, 0));
  for (std::size_t i = a.size(); i-- > 0;)
    for (std::size_t j = b.size(); j-- > 0;)
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  return common;
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
  const std::string_view ending = number == 1 ? "" : noun.ends_with("ch") && noun != "epoch" ? "es" : "s";
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

std::string difference_of(std::string_view before, std::string_view after) {
  const std::vector<std::string_view> all_before = lines_of(before);
  const std::vector<std::string_view> all_after = lines_of(after);
  Lines a = all_before;
  Lines b = all_after;
  while (!a.empty() && !b.empty() && a.front() == b.front()) {
    a = a.subspan(1);
    b = b.subspan(1);
  }
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a = a.first(a.size() - 1);
    b = b.first(b.size() - 1);
  }
  const bool is_long = a.size() * b.size() > max_pairs;
  const auto common = is_long ? std::vector<std::vector<int>>() : common_lines(a, b);
  std::string text;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (!is_long && i < a.size() && j < b.size() && a[i] == b[j]) {
      ++i;
      ++j;
    } else if (i < a.size() && (is_long || j == b.size() || common[i + 1][j] >= common[i][j + 1])) {
      text += fmt::format("- {}\n", a[i++]);
    } else {
      text += fmt::format("+ {}\n", b[j++]);
    }
  }
  return text;
}

}  // namespace dovetail::answer
