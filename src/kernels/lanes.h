// Vector arithmetic: lanes, which are the numbers of one register, and a vectorizable exponential.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

namespace dovetail::kernels {

template <class Number, int bytes>
struct LanesOf {
  typedef Number Type __attribute__((vector_size(bytes)));
};
template <class Number, int bytes>
using Lanes = typename LanesOf<Number, bytes>::Type;

template <class Number, int bytes>
inline constexpr std::int64_t lane_count = bytes / static_cast<std::int64_t>(sizeof(Number));

/// Lanes at an address that is aligned for one Number, but possibly not for a vector.
template <class Vector>
struct [[gnu::packed, gnu::may_alias]] AnywhereInMemory {
  Vector lanes;
};

/// Loads lanes from an unaligned address. Lanes are passed by reference, because the calling convention for values
/// depends on the instruction set.
template <class Number, class Vector>
[[gnu::always_inline]] inline void load(const Number* from, Vector& lanes) {
  lanes = reinterpret_cast<const AnywhereInMemory<Vector>*>(from)->lanes;
}
template <class Number, class Vector>
[[gnu::always_inline]] inline void store(const Vector& lanes, Number* to) {
  reinterpret_cast<AnywhereInMemory<Vector>*>(to)->lanes = lanes;
}

/// Loads the first `count` numbers and sets the other lanes to 0.
template <class Number, class Vector>
[[gnu::always_inline]] inline void load_some(const Number* from, std::int64_t count, Vector& lanes) {
  lanes = Vector{};
  std::memcpy(&lanes, from, static_cast<std::size_t>(count) * sizeof(Number));
}

template <class Number, class Vector>
[[gnu::always_inline]] inline void store_some(const Vector& lanes, std::int64_t count, Number* to) {
  std::memcpy(to, &lanes, static_cast<std::size_t>(count) * sizeof(Number));
}

template <class Vector>
inline constexpr std::int64_t lanes_of = sizeof(Vector) / sizeof(Vector{}[0]);

/// Splits two vectors into groups of 2 * half numbers and adds the two halves of each group. The sums of the first
/// vector come before the sums of the second.
template <std::int64_t half, class Vector, std::int64_t... at>
[[gnu::always_inline]] inline void add_halves(const Vector& first, const Vector& second, Vector& sums,
                                              std::integer_sequence<std::int64_t, at...>) {
  // Index of number i of the first halves, in the concatenation of both vectors.
  constexpr auto place = [](std::int64_t i) { return i % half + i / half * 2 * half; };
  sums = __builtin_shufflevector(first, second, place(at)...) +
         __builtin_shufflevector(first, second, (place(at) + half)...);
}

/// Sums the lanes of vector i into lane i of the first vector, for each of `count` vectors, and overwrites the others.
/// Adds halves recursively, always in the same order. REQUIRES: `count` is the number of lanes.
template <std::int64_t count, class Vector>
[[gnu::always_inline]] inline void add_up_each(Vector* vectors) {
  if constexpr (count > 1) {
    for (std::int64_t i = 0; i < count / 2; ++i)
      add_halves<count / 2>(vectors[2 * i], vectors[2 * i + 1], vectors[i],
                            std::make_integer_sequence<std::int64_t, lanes_of<Vector>>{});
    add_up_each<count / 2>(vectors);
  }
}

/// Sums the lanes of one vector, in the same order as add_up_each.
template <class Number, class Vector>
[[gnu::always_inline]] inline void add_up(const Vector& lanes, Number& sum) {
  constexpr std::int64_t count = lanes_of<Vector>;
  Vector sums[std::size_t{count}] = {lanes};
  add_up_each<count>(sums);
  sum = sums[0][0];
}

/// A multiple of every lane count. Rows padded to a multiple of it need no special case at their end.
inline constexpr std::int64_t max_lanes = 16;
constexpr std::int64_t filled_up(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; }

// The following functions reduce `count` numbers, a multiple of max_lanes: first within each lane, then across the
// lanes.

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

/// Computes e^x with a relative error below 2 units in the last place; 0 below -87, e^88 above 88. Branch-free, so that
/// loops over it are vectorized. Uses Cody and Waite's reduction to |r| <= ln 2 / 2, then a Taylor polynomial of
/// degree 7.
[[gnu::always_inline]] inline float exponential(float x) {
  constexpr float max = 88.0F;
  constexpr float min = -87.0F;
  constexpr float log2_e = 1.44269504F;
  constexpr float ln2_high = 0.693359375F;
  constexpr float ln2_low = -2.12194440e-4F;
  constexpr float rounder = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const float bounded = x > max ? max : x < min ? min : x;
  const float power = (bounded * log2_e + rounder) - rounder;
  const float rest = (bounded - power * ln2_high) - power * ln2_low;
  float sum = 1.0F / 5040;
  sum = sum * rest + 1.0F / 720;
  sum = sum * rest + 1.0F / 120;
  sum = sum * rest + 1.0F / 24;
  sum = sum * rest + 1.0F / 6;
  sum = sum * rest + 1.0F / 2;
  sum = sum * rest + 1.0F;
  sum = sum * rest + 1.0F;
  constexpr std::int32_t exponent_bias = 127;
  constexpr int exponent_place = 23;
  const auto scale = std::bit_cast<float>((static_cast<std::int32_t>(power) + exponent_bias) << exponent_place);
  return x < min ? 0 : sum * scale;
}

inline double exponential(double x) { return std::exp(x); }

}  // namespace dovetail::kernels
