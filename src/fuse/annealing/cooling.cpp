#include "fuse/annealing/cooling.h"

#include <algorithm>

#include "base/random.h"

namespace dovetail::fuse {

double root_of(double ratio, std::int64_t n) {
  const auto power = [n](double base) {
    double result = 1;
    for (std::int64_t exponent = n; exponent > 0; exponent /= 2) {
      if (exponent % 2 == 1) result *= base;
      base *= base;
    }
    return result;
  };
  double low = 0;
  double high = 1;
  for (int step = 0; step < 80; ++step) {
    const double middle = low + (high - low) / 2;
    (power(middle) < ratio ? low : high) = middle;
  }
  return high;
}

Cooling::Cooling(double start, double end, std::int64_t iterations)
    : temperature(start), factor(root_of(end / start, std::max<std::int64_t>(1, iterations / iterations_a_step))) {}

MetropolisTable::MetropolisTable() {
  for (std::size_t i = 0; i < size; ++i)
    thresholds_[i] = base::negative_log((static_cast<double>(i) + 0.5) / static_cast<double>(size));
}

const MetropolisTable& metropolis_table() {
  static const MetropolisTable table;
  return table;
}

}  // namespace dovetail::fuse
