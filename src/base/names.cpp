#include "base/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace dovetail::base {

Result<std::string> read_name(const Node& node, std::string_view key) {
  std::string name(node.is_string() ? node.text() : "");
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  if (name.empty() || std::any_of(name.begin(), name.end(), is_control))
    return node.error(fmt::format("{} is {}; accepted: a name", quote(key), node.describe()));
  return name;
}

Result<std::string> find_name(const Node& map, std::string_view key) {
  const auto node = map.find(key);
  return node ? read_name(*node, key) : std::string();
}

}  // namespace dovetail::base
