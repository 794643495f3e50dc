#include "base/random.h"

#include <array>
#include <bit>
#include <cstddef>

#include "base/assert.h"

namespace dovetail::base {

namespace {

// ln(c) for the centers c = i / 128 of m in [0.7, 1.42], close enough that six terms of a series reach the last bit.
constexpr int centers_per_one = 128;
constexpr int first_center = 90;
constexpr int last_center = 182;
constexpr double ln_2 = 0.69314718055994530942;

/// ln(c) = 2 artanh((c - 1) / (c + 1)).
constexpr double ln_of_center(int center) {
  const double c = static_cast<double>(center) / centers_per_one;
  const double z = (c - 1.0) / (c + 1.0);
  double sum = 0.0;
  double power = z;
  for (int odd = 1; odd < 40; odd += 2) {
    sum += power / odd;
    power *= z * z;
  }
  return 2.0 * sum;
}

constexpr auto ln_table = [] {
  std::array<double, last_center - first_center + 1> table{};
  for (int center = first_center; center <= last_center; ++center) {
    table[static_cast<std::size_t>(center - first_center)] = ln_of_center(center);
  }
  return table;
}();

/// ln(1 + r) for |r| < 0.006.
double ln_near_one(double r) {
  return r * (1.0 - r * (1.0 / 2.0 - r * (1.0 / 3.0 - r * (1.0 / 4.0 - r * (1.0 / 5.0 - r * (1.0 / 6.0 - r / 7.0))))));
}

/// ln(m) for m in [0.7, 1.42].
double ln_of_mantissa(double m) {
  // Rounding to either neighboring center is accurate enough.
  const int center = static_cast<int>(m * centers_per_one + 0.5);  // NOLINT(bugprone-incorrect-roundings)
  const double c = static_cast<double>(center) / centers_per_one;
  return ln_table[static_cast<std::size_t>(center - first_center)] + ln_near_one((m - c) / c);
}

}  // namespace

double negative_log(double x) {
  // x = m * 2^exponent with m in [0.7, 1.42].
  int exponent = static_cast<int>((std::bit_cast<std::uint64_t>(x) >> 52) & 0x7FF) - 1023;
  double m = std::bit_cast<double>((std::bit_cast<std::uint64_t>(x) & 0xFFFFFFFFFFFFFULL) | 0x3FF0000000000000ULL);
  if (m > 1.41) {
    m /= 2.0;
    ++exponent;
  }
  return -exponent * ln_2 - ln_of_mantissa(m);
}

Random::Random(std::uint64_t seed, std::uint64_t stream) {
  // SplitMix64 from a state in which seed and stream are both mixed, so that neighboring streams are unrelated.
  std::uint64_t state = scatter(scatter(seed) + stream);
  for (std::uint64_t& word : state_) {
    word = scatter(state);
    state += 0x9E3779B97F4A7C15ULL;
  }
}

std::uint32_t Random::below(std::uint32_t bound) {
  DOVETAIL_ASSERT(bound > 0);
  std::uint64_t product = (next() >> 32) * bound;
  if (static_cast<std::uint32_t>(product) < bound) {
    const std::uint32_t rejected = (0U - bound) % bound;
    while (static_cast<std::uint32_t>(product) < rejected) product = (next() >> 32) * bound;
  }
  return static_cast<std::uint32_t>(product >> 32);
}

double Random::unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

double Random::negative_log_unit() {
  // The uniform is n * 2^-53 with n odd, so neither 0 nor 1.
  const std::uint64_t n = ((next() >> 12) << 1) | 1;
  return negative_log(static_cast<double>(n) * 0x1p-53);
}

}  // namespace dovetail::base
