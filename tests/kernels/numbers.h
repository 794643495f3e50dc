// Random numbers in either precision, and derivatives by finite differences.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.h"

namespace dovetail::kernels {

/// Uniform in [-range, range).
template <class Number>
std::vector<Number> random_numbers(std::int64_t count, std::uint64_t seed, double range = 1) {
  base::Random random(seed, 0);
  std::vector<Number> numbers;
  while (static_cast<std::int64_t>(numbers.size()) < count)
    numbers.push_back(static_cast<Number>(range * (2 * random.unit() - 1)));
  return numbers;
}

/// Returns the sum of products with fixed factors: a loss whose derivative with respect to `numbers` is `factors`.
template <class Number>
double weighed(const std::vector<Number>& numbers, const std::vector<Number>& factors) {
  double sum = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    sum += static_cast<double>(numbers[i]) * static_cast<double>(factors[i]);
  return sum;
}

/// Returns the derivative of a loss with respect to each number of `x`, by central differences.
inline std::vector<double> differences(std::vector<double>& x, const std::function<double()>& loss) {
  constexpr double step = 1e-5;
  std::vector<double> slopes;
  for (double& number : x) {
    const double before = number;
    number = before + step;
    const double above = loss();
    number = before - step;
    const double below = loss();
    number = before;
    slopes.push_back((above - below) / (2 * step));
  }
  return slopes;
}

}  // namespace dovetail::kernels
