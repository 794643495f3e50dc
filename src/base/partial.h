// Some members of a struct that descriptor.h describes, each with a value: what a file says, what a job fixes.
#pragma once

#include <bitset>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/descriptor.h"

namespace dovetail::base {

/// Some members of a T.
template <class T>
class Partial {
 public:
  template <class Value>
  bool has(Value T::* member) const {
    return given_[index_of(member)];
  }

  /// The value of `member`, where it is given.
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

  /// A T with what is given; the rest has its defaults.
  const T& or_defaults() const { return values_; }

  /// Gives `value` what is given, and leaves the rest of it alone.
  void apply_to(T& value) const {
    for_each_field<T>([&](const auto& each) {
      if (has(each.member)) value.*each.member = values_.*each.member;
    });
  }

  friend bool operator==(const Partial&, const Partial&) = default;

 private:
  T values_ = {};  // not given: the default
  std::bitset<member_count<T>> given_;
};

/// What of `value` differs from the default.
template <class T>
Partial<T> unusual(const T& value) {
  const T usual = {};
  Partial<T> partial;
  for_each_field<T>([&](const auto& each) {
    if (!(value.*each.member == usual.*each.member)) partial.set(each.member, value.*each.member);
  });
  return partial;
}

}  // namespace dovetail::base
