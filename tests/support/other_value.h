// Produces another value of a field described by base/descriptor.h, for tests that cover all fields of a struct.
#pragma once

#include <vector>

#include "base/descriptor.h"

namespace dovetail::test {

// Each overload returns a value that the kind of field accepts and that differs from `value`.

template <class Value>
  requires std::is_arithmetic_v<Value>
Value other_value(const base::Integer& kind, Value value) {
  return static_cast<Value>(value == static_cast<Value>(kind.min) ? kind.min + 1 : kind.min);
}
inline double other_value(const base::Number& kind, double value) { return value == kind.min ? kind.max : kind.min; }
inline bool other_value(base::Flag, bool value) { return !value; }
inline std::string other_value(base::Name, const std::string& value) { return value + "x"; }
inline base::Ticks other_value(base::Seconds, base::Ticks value) { return value + base::Ticks(1'500'000'000); }
inline std::vector<int> other_value(const base::IntegerList& kind, std::vector<int> value) {
  value.push_back(static_cast<int>(kind.max));
  return value;
}
template <class Enum>
Enum other_value(base::Choice, Enum value) {
  const auto names = names_of(value);
  return names.front().value == value ? names.back().value : names.front().value;
}
template <class T>
std::optional<T> other_value(base::OptionalStruct, const std::optional<T>& value) {
  return value ? std::nullopt : std::optional<T>(T{});
}

}  // namespace dovetail::test
