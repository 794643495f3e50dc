// Readers for the components of a tokenizer.json. Each component is a map with a `type`; a Sequence contains others.
#pragma once

#include <fmt/core.h>

#include <string_view>

#include "base/document.h"
#include "base/fields.h"
#include "base/result.h"

namespace dovetail::text {

/// Returns the `type` of a component, or an empty string if the type is not a string. Messages call the component
/// `what` ("a normalizer").
inline base::Result<std::string_view> type_of(const base::Node& component, std::string_view what) {
  if (!component.is_map())
    return component.error(fmt::format("{} is {}; accepted: a map with a `type`", what, component.describe()));
  DOVETAIL_TRY(const base::Node type, base::require(component, what, "type"));
  return type.is_string() ? type.text() : std::string_view();
}

/// Returns an Error at the unsupported type of a component.
inline base::Error unknown_type(const base::Node& component, std::string_view what, std::string_view accepted) {
  const base::Node type = component.find("type").value_or(component);
  return type.error(fmt::format("{} is {}; accepted: {}", what, type.describe(), accepted));
}

/// Maximum nesting depth of Sequences.
inline constexpr int max_depth = 8;

/// Calls `read` with each item of the list `key` of a Sequence that is inside `depth` others. Stops at the first Error.
template <class Read>
base::Status for_each_component(const base::Node& sequence, std::string_view key, int depth, const Read& read) {
  if (depth >= max_depth)
    return sequence.error(fmt::format("Sequences are nested too deeply; accepted: at most {} levels", max_depth));
  DOVETAIL_CHECK(base::check_keys(sequence, "a Sequence", {"type", key}));
  DOVETAIL_TRY(const base::Node all, base::require(sequence, "a Sequence", key));
  if (!all.is_list()) return all.error(fmt::format("`{}` is {}; accepted: a list", key, all.describe()));
  for (std::size_t index = 0; index < all.size(); ++index) DOVETAIL_CHECK(read(all.item(index)));
  return {};
}

/// Reads the boolean at `key` into `value`, which stays unchanged if the key is missing.
inline base::Status read_flag(const base::Node& map, std::string_view key, bool& value) {
  const auto node = map.find(key);
  return node ? base::read_value(*node, key, base::Flag{}, value) : base::Status();
}

}  // namespace dovetail::text
