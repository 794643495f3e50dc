// Struct descriptors: a struct lists its fields once. The functions in descriptor_file.h use this list to read, write,
// hash, check and describe the struct. Tests compare the list with the JSON schemas.
//
// A struct is described by a function `fields_of` in its namespace, defined next to the struct:
//
//   struct Engine {
//     double memory_utilization = 0.9;
//     bool cuda_graphs = true;
//   };
//   template <std::same_as<Engine> T>
//   constexpr auto fields_of(const T*) {
//     using base::field;
//     return base::fields<T>(
//         field("memory_utilization", &T::memory_utilization, base::Number{0.01, 1},
//               {.phrase = "memory utilization {}"}),
//         field("cuda_graphs", &T::cuda_graphs, base::Flag{},
//               {.phrase = "CUDA graphs", .otherwise = "no CUDA graphs"}));
//   }
//
// `fields_of` is a template so that only the files that use it pay for compiling it. A list that omits a member does
// not compile. Fields are read and written in the order of the list, which may differ from the order of the members.
// The members' initializers are the defaults.
#pragma once

#include <bitset>
#include <cstddef>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/fields.h"

namespace dovetail::base {
namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// Converts to any type in unevaluated contexts. Converts to an optional only through its value type, because the
/// conversion would otherwise be ambiguous.
struct AnyValue {
  template <class T>
    requires(!is_optional<T>)
  operator T() const {
    DOVETAIL_ASSERT(false);
  }
};

template <std::size_t>
using AnyValueAt = AnyValue;

template <class Struct, std::size_t... indices>
constexpr bool accepts_values(std::index_sequence<indices...>) {
  return requires { Struct{AnyValueAt<indices>{}...}; };
}

// An aggregate can be initialized as Struct{a, b, c} with at most as many values as it has members. So the number of
// members is the largest number of values for which the initialization compiles, found by bisection. REQUIRES: the
// number is at least `min` and less than `end`.
template <class Struct, std::size_t min, std::size_t end>
constexpr std::size_t count_members() {
  constexpr std::size_t middle = (min + end) / 2;
  if constexpr (middle == min)
    return min;
  else if constexpr (accepts_values<Struct>(std::make_index_sequence<middle>{}))
    return count_members<Struct, middle, end>();
  else
    return count_members<Struct, min, middle>();
}

inline constexpr std::size_t max_member_count = 48;

}  // namespace detail

/// Number of members of a struct, known at compile time. REQUIRES: the struct is an aggregate with at most
/// detail::max_member_count members, each with a default. It has no base classes and no members that are C arrays.
template <class Struct>
inline constexpr std::size_t member_count = detail::count_members<Struct, 0, detail::max_member_count + 1>();

/// When a field is part of the struct's hash (canonical_object).
enum class Hashed {
  always,
  non_default,  ///< if it differs from its default; for fields added later, so that older hashes stay valid
  never         ///< for names
};

/// Optional properties of a field.
template <class Owner>
struct FieldOptions {
  std::string_view what = {};    ///< name in messages about its limits ("the number of layers"); empty: the key
  std::string_view phrase = {};  ///< phrase for sentences, with the value at {}; for a flag, the phrase if it is true;
                                 ///< empty: the key followed by the value
  std::string_view otherwise = {};  ///< phrase for a flag that is false
  Hashed hashed = Hashed::always;
  /// Whether a file may set the field; called after the fields listed before it were read. nullptr: always accepted.
  /// `only_with` names the condition in the Error.
  bool (*applies)(const Owner&) = nullptr;
  std::string_view only_with = {};
};

/// A member of `Owner`: its key in files, its kind of value (fields.h) and its options.
template <class Owner, class Value, class Kind>
struct Field {
  std::string_view key;
  Value Owner::* member;
  Kind kind;
  FieldOptions<Owner> options;
};

template <class Owner, class Value, class Kind>
constexpr auto field(std::string_view key, Value Owner::* member, Kind kind,
                     std::type_identity_t<FieldOptions<Owner>> options = {}) {
  return Field<Owner, Value, Kind>{key, member, kind, options};
}

/// Returns the list of all fields of `Owner`.
template <class Owner, class... Fields>
constexpr std::tuple<Fields...> fields(Fields... all) {
  static_assert(sizeof...(Fields) == member_count<Owner>, "fields_of must list one field per member of the struct");
  return {all...};
}

/// Calls `f` with each field of T, in order.
template <class T, class F>
constexpr void for_each_field(F&& f) {
  std::apply([&f](const auto&... each) { (f(each), ...); }, fields_of(static_cast<const T*>(nullptr)));
}

/// Returns the index of the field of `member` among T's fields, or member_count<T> if it has no field.
template <class T, class Value>
constexpr std::size_t index_of(Value T::* member) {
  std::size_t index = 0;
  std::size_t found = member_count<T>;
  for_each_field<T>([&](const auto& each) {
    if constexpr (std::is_same_v<decltype(each.member), Value T::*>)
      if (each.member == member) found = index;
    ++index;
  });
  return found;
}

/// Returns the key of `member` in files.
template <class T, class Value>
constexpr std::string_view key_of(Value T::* member) {
  std::string_view key;
  for_each_field<T>([&](const auto& each) {
    if constexpr (std::is_same_v<decltype(each.member), Value T::*>)
      if (each.member == member) key = each.key;
  });
  return key;
}

/// Returns the keys of all fields.
template <class T>
std::vector<std::string_view> keys_of() {
  std::vector<std::string_view> keys;
  for_each_field<T>([&keys](const auto& each) { keys.push_back(each.key); });
  return keys;
}

/// Values for some members of a T, such as the settings that a file specifies or that a job fixes.
template <class T>
class Partial {
 public:
  template <class Value>
  bool has(Value T::* member) const {
    return given_[index_of(member)];
  }

  /// Returns the value of `member`; nullopt if it is not set.
  template <class Value>
  std::optional<Value> find(Value T::* member) const {
    return has(member) ? std::optional<Value>(values_.*member) : std::nullopt;
  }

  template <class Value>
  void set(Value T::* member, std::type_identity_t<Value> value) {
    values_.*member = std::move(value);
    given_.set(index_of(member));
  }

  bool empty() const { return given_.none(); }

  /// Returns a T with the members that are set; all others have their defaults.
  const T& or_defaults() const { return values_; }

  /// Overwrites each member of `value` that is set here. Leaves the other members of `value` unchanged.
  void apply_to(T& value) const {
    for_each_field<T>([&](const auto& each) {
      if (has(each.member)) value.*each.member = values_.*each.member;
    });
  }

  friend bool operator==(const Partial&, const Partial&) = default;

 private:
  T values_ = {};  // members that are not set have their defaults
  std::bitset<member_count<T>> given_;
};

/// Returns the members of `value` that differ from their defaults.
template <class T>
Partial<T> non_default(const T& value) {
  const T defaults = {};
  Partial<T> partial;
  for_each_field<T>([&](const auto& each) {
    if (!(value.*each.member == defaults.*each.member)) partial.set(each.member, value.*each.member);
  });
  return partial;
}

}  // namespace dovetail::base
