// Random numbers that are the same on every machine: no libm and no implementation-defined distributions.
#pragma once

#include <bit>
#include <cstdint>

namespace dovetail::base {

/// Mixes 64 bits with SplitMix64's finalizer, a bijection (Steele, Lea, Flood 2014). Turns counters and other keys into
/// random bits without the state of a generator.
constexpr std::uint64_t scatter(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// Computes -ln(x) for x in [2^-1022, 1], within 1e-12 of the true value, from a table and IEEE +, -, *, / only.
double negative_log(double x);

/// The generator xoshiro256** (Blackman, Vigna 2018). Every pair of seed and stream gives an unrelated sequence.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream);

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  /// Returns an exactly uniform integer in [0, bound) (Lemire 2019). REQUIRES: bound > 0.
  std::uint32_t below(std::uint32_t bound);
  /// Returns a uniform number in [0, 1) with 53 bits.
  double unit();
  /// Returns -ln of a uniform number in (0, 1). A Metropolis step accepts an increase of at most this number times
  /// the temperature.
  double negative_log_unit();

 private:
  std::uint64_t state_[4];
};

}  // namespace dovetail::base
