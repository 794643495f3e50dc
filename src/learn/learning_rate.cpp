#include "learn/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dovetail::learn {

double rate_part(RateShape shape, std::int64_t warmup, double minimum, std::int64_t step, std::int64_t steps) {
  if (step < warmup) return static_cast<double>(step + 1) / static_cast<double>(warmup + 1);
  if (shape == RateShape::constant) return 1;
  const auto after = static_cast<double>(step - warmup);
  const auto span = static_cast<double>(std::max<std::int64_t>(1, steps - 1 - warmup));
  const double done = std::min(1.0, after / span);
  const double left = shape == RateShape::linear ? 1 - done : (1 + std::cos(std::numbers::pi * done)) / 2;
  return minimum + (1 - minimum) * left;
}

}  // namespace dovetail::learn
