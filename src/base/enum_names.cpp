#include "base/enum_names.h"

#include <fmt/format.h>

namespace dovetail::base {

Error none_of_names(const Node& node, std::string_view what, const std::vector<std::string_view>& names) {
  return node.error(fmt::format("{} is {}; accepted: {}", what, node.describe(), fmt::join(names, ", ")));
}

}  // namespace dovetail::base
