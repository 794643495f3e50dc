// The names of an enum's values, at the edge: what files and messages say. Inside, values are compared, never names.
//
// An enum has names where its namespace has a function `names_of` of it:
//
//   enum class Recomputation { none, selective, full };
//   constexpr auto names_of(Recomputation) {
//     return std::array{base::EnumName{"none", Recomputation::none}, ...};
//   }
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/document.h"
#include "base/result.h"

namespace dovetail::base {

template <class Enum>
struct EnumName {
  std::string_view name;  ///< the key in files
  Enum value;
  std::string_view words = {};  ///< in sentences; empty: the name
};

/// All names, in the order in which messages list them.
template <class Enum>
std::vector<std::string_view> enum_names() {
  std::vector<std::string_view> names;
  for (const auto& each : names_of(Enum{})) names.push_back(each.name);
  return names;
}

/// The name of `value`. REQUIRES: it has one.
template <class Enum>
constexpr std::string_view enum_name(Enum value) {
  for (const auto& each : names_of(Enum{}))
    if (each.value == value) return each.name;
  DOVETAIL_ASSERT(false);
  return {};
}

/// What sentences call `value`. REQUIRES: it has a name.
template <class Enum>
constexpr std::string_view enum_words(Enum value) {
  for (const auto& each : names_of(Enum{}))
    if (each.value == value) return each.words.empty() ? each.name : each.words;
  DOVETAIL_ASSERT(false);
  return {};
}

/// The value of that name, if there is one.
template <class Enum>
constexpr std::optional<Enum> enum_named(std::string_view name) {
  for (const auto& each : names_of(Enum{}))
    if (each.name == name) return each.value;
  return std::nullopt;
}

/// An Error at `node`, which is none of `names`: "WHAT is NODE; accepted: NAMES".
Error none_of_names(const Node& node, std::string_view what, const std::vector<std::string_view>& names);

/// The value that `node` names; else an Error at it.
template <class Enum>
Result<Enum> read_enum(const Node& node, std::string_view what) {
  if (node.is_string())
    if (const auto value = enum_named<Enum>(node.text())) return *value;
  return none_of_names(node, what, enum_names<Enum>());
}

}  // namespace dovetail::base
