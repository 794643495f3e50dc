// Operations on described structs (descriptor.h): reading and writing maps, the canonical form, range checks, and
// phrases for values and changes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/descriptor.h"
#include "base/utf8.h"

namespace dovetail::base {

template <class T>
Status read_value(const Node& node, std::string_view key, OptionalStruct, std::optional<T>& value);

template <class T>
Status read_value(const Node& node, std::string_view key, NestedStruct, T& value);

/// Sets the members of `value` whose keys are in `map`. Ignores other keys; see check_keys. Stops at the first value
/// that is invalid, or whose key is not accepted (FieldOptions::applies), and returns an Error at that value.
template <class T>
Status read_fields(const Node& map, T& value) {
  Status status;
  for_each_field<T>([&](const auto& each) {
    if (!status.ok()) return;
    const auto node = map.find(each.key);
    if (!node) return;
    if (each.options.applies != nullptr && !each.options.applies(value))
      status = without_companion(*node, each.key, each.options.only_with);
    else
      status = read_value(*node, each.key, each.kind, value.*each.member);
  });
  return status;
}

/// Like read_fields, but unknown keys are Errors. Members without a key in `map` keep their values. `what` names the
/// map in messages ("a layout").
template <class T>
Status read_over(const Node& map, std::string_view what, T& value) {
  DOVETAIL_CHECK(check_keys(map, what, keys_of<T>()));
  return read_fields(map, value);
}

/// Reads the members whose keys are in `map`; the others are not set. Unknown keys are Errors. `what` names the map in
/// messages.
template <class T>
Result<Partial<T>> read_partial(const Node& map, std::string_view what) {
  T value = {};
  DOVETAIL_CHECK(read_over(map, what, value));
  Partial<T> partial;
  for_each_field<T>([&](const auto& each) {
    if (map.find(each.key)) partial.set(each.member, value.*each.member);
  });
  return partial;
}

template <class T>
Status read_value(const Node& node, std::string_view key, OptionalStruct, std::optional<T>& value) {
  DOVETAIL_TRY(const Partial<T> part, read_partial<T>(node, quote(key)));
  value = part.or_defaults();
  return {};
}

template <class T>
Status read_value(const Node& node, std::string_view key, NestedStruct, T& value) {
  return read_over(node, quote(key), value);
}

/// Reads a struct whose members are all flags. The value is a list of the flags that are true
/// ("offload: [weights, optimizer]"); see read_names.
template <class T>
Result<T> read_flags(const Node& node, std::string_view key) {
  DOVETAIL_TRY(const std::vector<std::string_view> names, read_names(node, key, keys_of<T>()));
  T value = {};
  for_each_field<T>([&](const auto& each) {
    for (const std::string_view name : names)
      if (name == each.key) value.*each.member = true;
  });
  return value;
}

template <class T>
std::string json_of(OptionalStruct, const std::optional<T>& value);
template <class T>
std::string json_of(NestedStruct, const T& value);

/// Returns the members that are set, in a form that read_partial reads.
template <class T>
JsonObject json_object(const Partial<T>& partial) {
  JsonObject object;
  for_each_field<T>([&](const auto& each) {
    if (partial.has(each.member)) object.add(each.key, json_of(each.kind, partial.or_defaults().*each.member));
  });
  return object;
}

template <class T>
std::string json_of(OptionalStruct, const std::optional<T>& value) {
  return value ? json_object(non_default(*value)).text() : "null";
}

template <class T>
std::string json_of(NestedStruct, const T& value) {
  return json_object(non_default(value)).text();
}

/// Returns the names of the flags that are true, as a list that read_flags reads.
template <class T>
std::string json_flags(const T& value) {
  std::string text;
  for_each_field<T>([&](const auto& each) {
    if (value.*each.member) text += (text.empty() ? "" : ", ") + json_of(Name{}, std::string(each.key));
  });
  return "[" + text + "]";
}

/// Returns the canonical form that is hashed. It has all fields, including those with default values, except
/// Hashed::never fields, Hashed::non_default fields with their default, and OptionalStruct fields that are nullopt.
template <class T>
JsonObject canonical_object(const T& value) {
  JsonObject object;
  const T defaults = {};
  for_each_field<T>([&](const auto& each) {
    const auto& member = value.*each.member;
    if (each.options.hashed == Hashed::never) return;
    if (each.options.hashed == Hashed::non_default && member == defaults.*each.member) return;
    if constexpr (std::is_same_v<decltype(each.kind), OptionalStruct>) {
      if (member) object.add(each.key, canonical_object(*member).text());
    } else if constexpr (std::is_same_v<decltype(each.kind), NestedStruct>) {
      object.add(each.key, canonical_object(member).text());
    } else {
      object.add(each.key, json_of(each.kind, member));
    }
  });
  return object;
}

/// Returns the name of a field in messages about its limits: FieldOptions::what, or the key if that is empty.
template <class T, class Value, class Kind>
std::string_view what_of(const Field<T, Value, Kind>& field) {
  return field.options.what.empty() ? field.key : field.options.what;
}

/// Returns a message about the first number outside the limits of its field, or nullopt. Checks only fields of the
/// kinds Integer and Number, not lists or nested structs.
template <class T>
std::optional<std::string> find_out_of_range(const T& value) {
  std::optional<std::string> fault;
  for_each_field<T>([&](const auto& each) {
    if (fault) return;
    if constexpr (std::is_same_v<decltype(each.kind), Integer>)
      fault = out_of_range(what_of(each), static_cast<std::int64_t>(value.*each.member), each.kind);
    if constexpr (std::is_same_v<decltype(each.kind), Number>)
      fault = out_of_range(what_of(each), value.*each.member, each.kind);
  });
  return fault;
}

/// Returns a message if `member` of `value` is outside `limits`, which replace the limits of its field; otherwise
/// nullopt.
template <class T, class Value, class Kind>
std::optional<std::string> find_out_of_range(const T& value, Value T::* member, const Kind& limits) {
  std::optional<std::string> fault;
  for_each_field<T>([&](const auto& each) {
    if constexpr (std::is_same_v<decltype(each.member), Value T::*>)
      if (each.member == member) fault = out_of_range(what_of(each), value.*member, limits);
  });
  return fault;
}

/// Returns the phrase for a field's value: "memory utilization 0.9", "no CUDA graphs".
template <class T, class Value, class Kind>
std::string description_of(const Field<T, Value, Kind>& field, const T& value) {
  const auto& options = field.options;
  if constexpr (std::is_same_v<Kind, Flag>)
    if (!options.phrase.empty()) return std::string(value.*field.member ? options.phrase : options.otherwise);
  return phrase(options.phrase, field.key, text_of(field.kind, value.*field.member));
}

/// Returns the phrase for the value of `member`.
template <class T, class Value>
std::string description_of(const T& value, Value T::* member) {
  std::string text;
  for_each_field<T>([&](const auto& each) {
    if constexpr (std::is_same_v<decltype(each.member), Value T::*>)
      if (each.member == member) text = description_of(each, value);
  });
  return text;
}

/// Returns a phrase for each field in which `to` differs from `from`: "at most 256 sequences in place of 512", "no CUDA
/// graphs".
template <class T>
std::vector<std::string> changed_descriptions(const T& from, const T& to) {
  std::vector<std::string> texts;
  for_each_field<T>([&](const auto& each) {
    if (from.*each.member == to.*each.member) return;
    texts.push_back(description_of(each, to));
    if constexpr (!std::is_same_v<decltype(each.kind), Flag>)
      texts.back() += " in place of " + text_of(each.kind, from.*each.member);
  });
  return texts;
}

}  // namespace dovetail::base
