#include "text/tokenizer_parts.h"

#include <fmt/format.h>

#include "base/fields.h"

namespace dovetail::text {

using base::Node;

base::Result<std::string_view> type_of(const Node& part, std::string_view what) {
  if (!part.is_map()) return part.error(fmt::format("this is {}; accepted: {}", part.describe(), what));
  DOVETAIL_TRY(const Node type, base::require(part, what, "type"));
  return type.is_string() ? type.text() : std::string_view();
}

base::Error unknown_type(const Node& part, std::string_view what, std::string_view accepted) {
  const Node type = part.find("type").value_or(part);
  return type.error(fmt::format("{} is {}; accepted: {}", what, type.describe(), accepted));
}

base::Status for_each_part(const Node& sequence, std::string_view key,
                           const std::function<base::Status(const Node&)>& read) {
  DOVETAIL_CHECK(base::check_keys(sequence, "a Sequence", {"type", key}));
  DOVETAIL_TRY(const Node all, base::require(sequence, "a Sequence", key));
  if (!all.is_list()) return all.error(fmt::format("`{}` is {}; accepted: a list", key, all.describe()));
  for (std::size_t index = 0; index < all.size(); ++index) DOVETAIL_CHECK(read(all.item(index)));
  return {};
}

base::Status read_flag(const Node& map, std::string_view key, bool& value) {
  const auto node = map.find(key);
  return node ? base::read_value(*node, key, base::Flag{}, value) : base::Status();
}

}  // namespace dovetail::text
