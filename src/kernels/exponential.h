// e^x in single precision without branches, so that loops over it become vector instructions.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace dovetail::kernels {

/// e^x with a relative error below 2 units in the last place; 0 below -87, e^88 above 88. Cody and Waite's reduction to
/// |r| <= ln 2 / 2, then a Taylor polynomial of degree 7.
[[gnu::always_inline]] inline float exponential(float x) {
  constexpr float max = 88.0F;
  constexpr float min = -87.0F;
  constexpr float log2_e = 1.44269504F;
  constexpr float ln2_high = 0.693359375F;
  constexpr float ln2_low = -2.12194440e-4F;
  constexpr float rounder = 12582912.0F;  // 1.5 * 2^23: adding it leaves no digits behind the point
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
