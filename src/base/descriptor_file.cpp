#include "base/descriptor_file.h"

#include <fmt/format.h>

#include <algorithm>

namespace dovetail::base {

Error without_companion(const Node& node, std::string_view key, std::string_view only_with) {
  return node.error(fmt::format("{} is accepted only with {}", quote(key), only_with));
}

Result<std::vector<std::string_view>> read_names(const Node& node, std::string_view key,
                                                 const std::vector<std::string_view>& accepted) {
  const std::string list = fmt::format("accepted: a list of {}", fmt::join(accepted, ", "));
  if (!node.is_list()) return node.error(fmt::format("{} is {}; {}", quote(key), node.describe(), list));
  std::vector<std::string_view> names;
  for (std::size_t index = 0; index < node.size(); ++index) {
    const Node item = node.item(index);
    if (!item.is_string() || std::find(accepted.begin(), accepted.end(), item.text()) == accepted.end())
      return item.error(fmt::format("an item of {} is {}; {}", quote(key), item.describe(), list));
    if (std::find(names.begin(), names.end(), item.text()) != names.end())
      return item.error(
          fmt::format("{} appears twice in {}; accepted: each name once", quote(item.text()), quote(key)));
    names.push_back(item.text());
  }
  return names;
}

std::string phrase(std::string_view words, std::string_view key, std::string_view text) {
  const std::size_t gap = words.find("{}");
  if (words.empty()) return fmt::format("{} {}", key, text);
  if (gap == std::string_view::npos) return std::string(words);
  return fmt::format("{}{}{}", words.substr(0, gap), text, words.substr(gap + 2));
}

}  // namespace dovetail::base
