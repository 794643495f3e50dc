// Temperatures of annealing, the same on every machine: multiplications of IEEE doubles only, no libm.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dovetail::fuse {

/// ratio^(1/n) for a ratio in (0, 1): the factor that n multiplications of make `ratio`.
double root_of(double ratio, std::int64_t n);

/// A temperature that falls from `start` to `end`, in equal ratios, in the steps that `iterations` take.
struct Cooling {
  static constexpr std::int64_t iterations_a_step = 1024;

  Cooling(double start, double end, std::int64_t iterations);

  double temperature;
  double factor;  ///< of each step
};

/// -ln((i + 1/2) / size): the threshold of a Metropolis step ("accept what loses less than the temperature times this")
/// for a uniform i, fast enough for the innermost loop.
class MetropolisTable {
 public:
  static constexpr std::size_t size = 4096;

  MetropolisTable();
  double operator[](std::uint64_t bits) const { return thresholds_[static_cast<std::size_t>(bits % size)]; }

 private:
  std::array<double, size> thresholds_;
};

/// The one table.
const MetropolisTable& metropolis_table();

}  // namespace dovetail::fuse
