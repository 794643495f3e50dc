// An axis of a picture: where values stand on it, and which of them are named.
#pragma once

#include <cstdint>
#include <vector>

namespace dovetail::report {

struct Axis {
  double from = 0;  ///< value at the pixel `begin`
  double to = 1;    ///< value at the pixel `end`
  double begin = 0;
  double end = 1;
  bool logarithmic = false;
  std::vector<std::int64_t> ticks;  ///< round values within [from, to], rising

  /// The pixel of a value; values beyond the axis are at its ends.
  double at(double value) const;
};

enum class AxisScale { by_values, linear };

/// An axis from the pixel `begin` to `end` that shows all `values` with some room beside them, with at most `max_ticks`
/// ticks: logarithmic where the least is above 0 and the largest more than four times it, else linear. One without
/// negative values does not go below 0. REQUIRES: values; max_ticks >= 2.
Axis make_axis(const std::vector<std::int64_t>& values, double begin, double end, int max_ticks,
               AxisScale scale = AxisScale::by_values);

}  // namespace dovetail::report
