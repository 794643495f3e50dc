#include "report/drawing/axis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "base/assert.h"
#include "report/page/summary.h"

namespace dovetail::report {
namespace {

/// The largest factor between two values for which they are shown on a linear axis.
constexpr double max_linear = 4;
/// Room beside the values, as a share of the axis.
constexpr double room = 0.06;

/// Round values of each power of ten in [from, to].
std::vector<std::int64_t> logarithmic_ticks(double from, double to, std::span<const std::int64_t> factors_in_tenths) {
  std::vector<std::int64_t> ticks;
  for (std::int64_t power = 1; static_cast<double>(power) <= to && power <= 100'000'000'000'000'000; power *= 10) {
    for (const std::int64_t factor : factors_in_tenths) {
      const std::int64_t tick = factor * power / 10;
      const bool is_whole = factor * power % 10 == 0;
      if (is_whole && static_cast<double>(tick) >= from && static_cast<double>(tick) <= to) ticks.push_back(tick);
    }
  }
  return ticks;
}

/// The densest of some sets of round values that has no more than `most`.
std::vector<std::int64_t> chosen_logarithmic_ticks(double from, double to, std::size_t most) {
  constexpr std::array<std::int64_t, 18> finest{10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 25, 30, 35, 40, 50, 60, 70, 80};
  constexpr std::array<std::int64_t, 7> fine{10, 15, 20, 30, 40, 50, 70};
  constexpr std::array<std::int64_t, 5> medium{10, 15, 20, 30, 50};
  constexpr std::array<std::int64_t, 3> coarse{10, 20, 50};
  constexpr std::array<std::int64_t, 1> powers{10};
  for (const std::span<const std::int64_t> set :
       {std::span<const std::int64_t>(finest), std::span<const std::int64_t>(fine),
        std::span<const std::int64_t>(medium), std::span<const std::int64_t>(coarse)}) {
    std::vector<std::int64_t> ticks = logarithmic_ticks(from, to, set);
    if (ticks.size() <= most) return ticks;
  }
  std::vector<std::int64_t> ticks = logarithmic_ticks(from, to, powers);
  const std::size_t every = (ticks.size() + most - 1) / most;
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < ticks.size(); i += every) kept.push_back(ticks[i]);
  return kept;
}

/// The multiples of a round step in [from, to].
std::vector<std::int64_t> linear_ticks(double from, double to, std::int64_t step) {
  std::vector<std::int64_t> ticks;
  const auto first = static_cast<std::int64_t>(std::ceil(from / static_cast<double>(step))) * step;
  for (std::int64_t tick = first; static_cast<double>(tick) <= to; tick += step) ticks.push_back(tick);
  return ticks;
}

/// The densest of them with no more than `most`: where the range begins and ends on a tick, as many steps have a tick
/// more.
std::vector<std::int64_t> chosen_linear_ticks(double from, double to, std::size_t most) {
  std::int64_t step = round_step((to - from) / static_cast<double>(most));
  std::vector<std::int64_t> ticks = linear_ticks(from, to, step);
  if (ticks.size() <= most) return ticks;
  step = round_step(static_cast<double>(step) + 1);
  return linear_ticks(from, to, step);
}

}  // namespace

double Axis::at(double value) const {
  const double inside = std::clamp(value, from, to);
  const double share = logarithmic ? std::log(inside / from) / std::log(to / from) : (inside - from) / (to - from);
  return begin + (end - begin) * share;
}

Axis make_axis(const std::vector<std::int64_t>& values, double begin, double end, int max_ticks, AxisScale scale) {
  DOVETAIL_ASSERT(!values.empty() && max_ticks >= 2);
  const auto [min_value, max_value] = std::minmax_element(values.begin(), values.end());
  const auto least = static_cast<double>(*min_value);
  const auto most = static_cast<double>(*max_value);
  Axis axis;
  axis.begin = begin;
  axis.end = end;
  axis.logarithmic = scale == AxisScale::by_values && least > 0 && most > max_linear * least;
  if (axis.logarithmic) {
    const double factor = std::pow(most / least, room);
    axis.from = least / factor;
    axis.to = most * factor;
    axis.ticks = chosen_logarithmic_ticks(axis.from, axis.to, static_cast<std::size_t>(max_ticks));
    return axis;
  }
  // Where all values are one there is still room around it.
  const double spare = std::max({(most - least) * room, std::abs(most) * 0.02, 1.0});
  axis.from = least < 0 ? least - spare : std::max(0.0, least - spare);
  axis.to = most + spare;
  axis.ticks = chosen_linear_ticks(axis.from, axis.to, static_cast<std::size_t>(max_ticks));
  return axis;
}

}  // namespace dovetail::report
