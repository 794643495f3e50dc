// Names of enum values in files and messages, and suggestions for misspelled names. Internal code compares values,
// never names.
//
// An enum is named by a function `names_of` in its namespace:
//
//   enum class Recomputation { none, selective, full };
//   constexpr auto names_of(Recomputation) {
//     return std::array{base::EnumName{"none", Recomputation::none}, ...};
//   }
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/document.h"
#include "base/result.h"

namespace dovetail::base {

template <class Enum>
struct EnumName {
  std::string_view name;  ///< spelling in files
  Enum value;
  std::string_view text = {};  ///< phrase for sentences; empty: the name
};

/// Returns all names, in the order in which messages list them.
template <class Enum>
std::vector<std::string_view> enum_names() {
  std::vector<std::string_view> names;
  for (const auto& each : names_of(Enum{})) names.push_back(each.name);
  return names;
}

/// Returns the name of `value`. REQUIRES: it has one.
template <class Enum>
constexpr std::string_view enum_name(Enum value) {
  for (const auto& each : names_of(Enum{}))
    if (each.value == value) return each.name;
  DOVETAIL_ASSERT(false);
  return {};
}

/// Returns the phrase for `value` in sentences. REQUIRES: it has a name.
template <class Enum>
constexpr std::string_view enum_text(Enum value) {
  for (const auto& each : names_of(Enum{}))
    if (each.value == value) return each.text.empty() ? each.name : each.text;
  DOVETAIL_ASSERT(false);
  return {};
}

/// Returns the value with that name, or nullopt.
template <class Enum>
constexpr std::optional<Enum> enum_named(std::string_view name) {
  for (const auto& each : names_of(Enum{}))
    if (each.name == name) return each.value;
  return std::nullopt;
}

/// Returns an Error at `node`, whose value is not among `names`: "WHAT is NODE; accepted: NAMES".
Error none_of_names(const Node& node, std::string_view what, const std::vector<std::string_view>& names);

/// Reads the value that `node` names. If `node` is not the name of a value, the Error at `node` lists all names.
template <class Enum>
Result<Enum> read_enum(const Node& node, std::string_view what) {
  if (node.is_string())
    if (const auto value = enum_named<Enum>(node.text())) return *value;
  return none_of_names(node, what, enum_names<Enum>());
}

/// Returns up to `max_count` candidates that `name` may be a misspelling of. A candidate qualifies if its edit distance
/// from `name` is at most 1, or at most a third of the length of the longer string. Candidates are sorted by increasing
/// distance, with ties in the order of `candidates`. Returns an empty vector for a `name` of more than 100 bytes.
std::vector<std::string_view> nearest_names(std::string_view name, const std::vector<std::string_view>& candidates,
                                            std::size_t max_count);

/// Returns "; did you mean 'greedy'?", with up to `max_count` suggestions ("'exp1', 'exp2' or 'exp10'"). Returns an
/// empty string if nearest_names() finds no candidate.
std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& candidates,
                         std::size_t max_count = 1);

}  // namespace dovetail::base
