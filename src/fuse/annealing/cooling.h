// Annealing temperatures. They are identical on every machine, because they are computed with basic arithmetic on IEEE
// doubles and without libm.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dovetail::fuse {

/// Returns ratio^(1/n) for a ratio in (0, 1): the factor whose n-th power is `ratio`.
double root_of(double ratio, std::int64_t n);

/// A temperature that falls geometrically from `start` to `end` over `iterations`, in steps of `iterations_a_step`
/// iterations.
struct Cooling {
  static constexpr std::int64_t iterations_a_step = 1024;

  Cooling(double start, double end, std::int64_t iterations);

  double temperature;  ///< initially `start`
  double factor;       ///< factor by which the temperature is multiplied at each step
};

/// Metropolis thresholds -ln((i + 1/2) / size) for a uniform random i. They are stored in a table, which is fast enough
/// for the innermost loop. A move is accepted if it worsens the objective by at most the temperature times the
/// threshold.
class MetropolisTable {
 public:
  static constexpr std::size_t size = 4096;

  MetropolisTable();
  /// Returns the threshold that `bits`, 64 random bits, select.
  double operator[](std::uint64_t bits) const { return thresholds_[static_cast<std::size_t>(bits % size)]; }

 private:
  std::array<double, size> thresholds_;
};

/// Returns the table that all threads share.
const MetropolisTable& metropolis_table();

}  // namespace dovetail::fuse
