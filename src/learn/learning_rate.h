// Learning rate schedules.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "base/enum_names.h"

namespace dovetail::learn {

enum class RateShape { constant, linear, cosine };
constexpr auto names_of(RateShape) {
  return std::array{base::EnumName{"constant", RateShape::constant}, base::EnumName{"linear", RateShape::linear},
                    base::EnumName{"cosine", RateShape::cosine}};
}

/// Returns the fraction of the full learning rate at optimizer step `step` (from 0) of `steps`. The first `warmup` = w
/// steps have 1 / (w + 1), 2 / (w + 1), ..., so that no warm-up step has a rate of 0. Afterwards `constant` stays at 1;
/// the other shapes fall from 1 to `minimum` at the last step, linearly or along half a cosine wave. If only one step
/// follows the warm-up, that step has 1.
inline double rate_part(RateShape shape, std::int64_t warmup, double minimum, std::int64_t step, std::int64_t steps) {
  if (step < warmup) return static_cast<double>(step + 1) / static_cast<double>(warmup + 1);
  if (shape == RateShape::constant) return 1;
  const auto after = static_cast<double>(step - warmup);
  const auto span = static_cast<double>(std::max<std::int64_t>(1, steps - 1 - warmup));
  const double done = std::min(1.0, after / span);
  const double left = shape == RateShape::linear ? 1 - done : (1 + std::cos(std::numbers::pi * done)) / 2;
  return minimum + (1 - minimum) * left;
}

}  // namespace dovetail::learn
