#include "answer/words/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace dovetail::answer {
namespace {

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
