// How many members a plain struct has, known while compiling: what a list of all its members is checked against.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "base/assert.h"

namespace dovetail::base {
namespace detail {

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// Stands for a value of any type where only types are looked at. An optional takes it as its value: to convert to
/// both would be ambiguous.
struct Anything {
  template <class T>
    requires(!is_optional<T>)
  operator T() const {
    DOVETAIL_ASSERT(false);
  }
};

template <std::size_t>
using AnythingAt = Anything;

// A plain struct can be written as Struct{a, b, c} with as many values as it has members, and with no more. So the
// number of its members is the largest number of values for which that compiles.
template <class Struct, std::size_t... indices>
constexpr std::size_t count_members(std::index_sequence<indices...>) {
  if constexpr (requires { Struct{AnythingAt<indices>{}...}; })
    return sizeof...(indices);
  else
    return count_members<Struct>(std::make_index_sequence<sizeof...(indices) - 1>{});
}

inline constexpr std::size_t max_member_count = 48;

}  // namespace detail

/// REQUIRES: an aggregate of at most detail::max_member_count members, without base classes and arrays.
template <class Struct>
inline constexpr std::size_t member_count =
    detail::count_members<Struct>(std::make_index_sequence<detail::max_member_count>{});

}  // namespace dovetail::base
