// A struct's fields, listed once: from the list follow reading, writing, hashing, comparing, words and schemas
// (descriptor_file.h, partial.h).
//
// A struct is described where its namespace has a function `fields_of` of it, beside the struct:
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
//               {.words = "memory utilization {}"}),
//         field("cuda_graphs", &T::cuda_graphs, base::Flag{}, {.words = "CUDA graphs", .otherwise = "no graphs"}));
//   }
//
// It is a template so that only who uses the list pays for it. A member without a field does not compile. Fields are
// read and written in the order of the list, which need not be that of the members; the members' initializers are the
// defaults.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/field_kinds.h"
#include "base/member_count.h"

namespace dovetail::base {

/// When the canonical form of a struct, which hashes are taken of, has a field.
enum class Hashed {
  always,
  unusual,  ///< where it differs from its default: a field that came later, so that older hashes stay
  never     ///< of names
};

/// What few fields need.
template <class Owner>
struct FieldOptions {
  std::string_view what = {};       ///< in messages about its limits ("the number of layers"); empty: the key
  std::string_view words = {};      ///< in sentences, its value at {} ("ZeRO stage {}"); of a flag what true means
  std::string_view otherwise = {};  ///< of a flag what false means
  Hashed hashed = Hashed::always;
  /// Files may say it only where this holds of what is read before it; `only_with` names that in messages.
  bool (*applies)(const Owner&) = nullptr;
  std::string_view only_with = {};
};

/// A member of `Owner`: its key in files, what it can be (field_kinds.h).
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

/// The list of all fields of `Owner`.
template <class Owner, class... Fields>
constexpr std::tuple<Fields...> fields(Fields... all) {
  static_assert(sizeof...(Fields) == member_count<Owner>, "each member of the struct has one field in its fields_of");
  return {all...};
}

/// Calls `f` with each field of T, in order.
template <class T, class F>
constexpr void for_each_field(F&& f) {
  std::apply([&f](const auto&... each) { (f(each), ...); }, fields_of(static_cast<const T*>(nullptr)));
}

/// Which of T's fields is that of `member`; as many as there are where none is.
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

/// The key of `member` in files.
template <class T, class Value>
constexpr std::string_view key_of(Value T::* member) {
  std::string_view key;
  for_each_field<T>([&](const auto& each) {
    if constexpr (std::is_same_v<decltype(each.member), Value T::*>)
      if (each.member == member) key = each.key;
  });
  return key;
}

/// The keys of all fields.
template <class T>
std::vector<std::string_view> keys_of() {
  std::vector<std::string_view> keys;
  for_each_field<T>([&keys](const auto& each) { keys.push_back(each.key); });
  return keys;
}

}  // namespace dovetail::base
