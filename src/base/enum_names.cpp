#include "base/enum_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace dovetail::base {

Error none_of_names(const Node& node, std::string_view what, const std::vector<std::string_view>& names) {
  return node.error(fmt::format("{} is {}; accepted: {}", what, node.describe(), fmt::join(names, ", ")));
}

namespace {

/// Returns the number of letters to insert, delete, replace or swap with a neighbor (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (a[i] == b[j] ? 0 : 1), row[j] + 1, last[j + 1] + 1});
      const bool exchanged = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
      if (exchanged) row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last.back();
}

}  // namespace

std::vector<std::string_view> nearest_names(std::string_view name, const std::vector<std::string_view>& candidates,
                                            std::size_t max_count) {
  constexpr std::size_t max_name = 100;
  if (name.size() > max_name) return {};
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    const std::size_t allowed = std::max<std::size_t>(1, std::max(name.size(), candidate.size()) / 3);
    if (distance <= allowed) near.emplace_back(distance, candidate);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < std::min(max_count, near.size()); ++i) names.push_back(near[i].second);
  return names;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& candidates,
                         std::size_t max_count) {
  const std::vector<std::string_view> nearest = nearest_names(name, candidates, max_count);
  if (nearest.empty()) return {};
  std::string text = "; did you mean ";
  for (std::size_t i = 0; i < nearest.size(); ++i) {
    if (i > 0) text += i + 1 == nearest.size() ? " or " : ", ";
    text += "'" + std::string(nearest[i]) + "'";
  }
  return text + "?";
}

}  // namespace dovetail::base
