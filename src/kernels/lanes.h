// Numbers that are computed together, as many as a vector register holds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace dovetail::kernels {

template <class Number, int bytes>
struct LanesOf {
  typedef Number Type __attribute__((vector_size(bytes)));
};
template <class Number, int bytes>
using Lanes = typename LanesOf<Number, bytes>::Type;

template <class Number, int bytes>
inline constexpr std::int64_t lane_count = bytes / static_cast<std::int64_t>(sizeof(Number));

/// Of numbers anywhere in memory. Lanes are passed by reference: by value, callers would differ by instruction set.
template <class Number, class Vector>
[[gnu::always_inline]] inline void load(const Number* from, Vector& lanes) {
  std::memcpy(&lanes, from, sizeof lanes);
}
template <class Number, class Vector>
[[gnu::always_inline]] inline void store(const Vector& lanes, Number* to) {
  std::memcpy(to, &lanes, sizeof lanes);
}

/// Of the first `count` numbers, the others 0.
template <class Number, class Vector>
[[gnu::always_inline]] inline void load_some(const Number* from, std::int64_t count, Vector& lanes) {
  lanes = Vector{};
  std::memcpy(&lanes, from, static_cast<std::size_t>(count) * sizeof(Number));
}

/// The sum, neighbours by halves: always in the same order.
template <class Number, class Vector>
[[gnu::always_inline]] inline void add_up(const Vector& lanes, Number& sum) {
  constexpr std::int64_t count = sizeof(Vector) / sizeof(Number);
  Number sums[std::size_t{count}];
  store(lanes, sums);
  for (std::int64_t half = count / 2; half > 0; half /= 2)
    for (std::int64_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  sum = sums[0];
}

/// A multiple of all counts of lanes: rows that are filled up to it need no other end.
inline constexpr std::int64_t max_lanes = 16;
constexpr std::int64_t filled_up(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; }

/// The largest, the sum, and the sum of products of numbers, a multiple of max_lanes: in lanes, then of the lanes.
template <int bytes, class Number>
[[gnu::always_inline]] inline Number max_of(const Number* numbers, std::int64_t count) {
  Lanes<Number, bytes> max;
  load(numbers, max);
  for (std::int64_t i = lane_count<Number, bytes>; i < count; i += lane_count<Number, bytes>) {
    Lanes<Number, bytes> more;
    load(numbers + i, more);
    max = more > max ? more : max;
  }
  Number each[lane_count<Number, bytes>];
  store(max, each);
  return *std::max_element(each, each + lane_count<Number, bytes>);
}

template <int bytes, class Number>
[[gnu::always_inline]] inline Number total_of(const Number* numbers, std::int64_t count) {
  Lanes<Number, bytes> sums = {};
  for (std::int64_t i = 0; i < count; i += lane_count<Number, bytes>) {
    Lanes<Number, bytes> more;
    load(numbers + i, more);
    sums += more;
  }
  Number sum;
  add_up(sums, sum);
  return sum;
}

template <int bytes, class Number>
[[gnu::always_inline]] inline Number dot(const Number* a, const Number* b, std::int64_t count) {
  Lanes<Number, bytes> sums = {};
  for (std::int64_t i = 0; i < count; i += lane_count<Number, bytes>) {
    Lanes<Number, bytes> of_a;
    Lanes<Number, bytes> of_b;
    load(a + i, of_a);
    load(b + i, of_b);
    sums += of_a * of_b;
  }
  Number sum;
  add_up(sums, sum);
  return sum;
}

}  // namespace dovetail::kernels
