#include "workflow/log_normal.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "workflow/normal.h"

namespace dovetail::workflow {
namespace {

/// The natural logarithm of a length as a function of the normal quantile z, linear between knots.
struct LogLengths {
  struct Knot {
    double z;
    double log_length;
  };
  std::vector<Knot> knots;    ///< by ascending z, at least one
  double spread_below = 0.0;  ///< slope before the first knot
  double spread_above = 0.0;  ///< slope after the last knot

  double slope_after(std::size_t knot) const {
    if (knot + 1 == knots.size()) return spread_above;
    return (knots[knot + 1].log_length - knots[knot].log_length) / (knots[knot + 1].z - knots[knot].z);
  }
};

constexpr double beyond_all = 40.0;  ///< a z beyond all lengths

/// Returns the z below which lengths are shorter than `length`.
double z_of(const LogLengths& lengths, double length) {
  const double log_length = natural_log(length);
  const auto& knots = lengths.knots;
  if (log_length <= knots.front().log_length) {
    if (lengths.spread_below <= 0.0) return -beyond_all;
    return std::max(-beyond_all, knots.front().z + (log_length - knots.front().log_length) / lengths.spread_below);
  }
  std::size_t knot = 0;
  while (knot + 1 < knots.size() && knots[knot + 1].log_length < log_length) ++knot;
  const double slope = lengths.slope_after(knot);
  if (slope <= 0.0) return beyond_all;
  return std::min(beyond_all, knots[knot].z + (log_length - knots[knot].log_length) / slope);
}

/// Returns the integral of length times density below z, for a line through a knot.
double mean_before(double z, const LogLengths::Knot& knot, double slope) {
  if (z <= no_probability_before) return 0.0;
  // exp(log_length + slope * (z - knot.z)) is a length even on a steep line, but the exponential of slope^2 / 2 may
  // overflow.
  if (z < slope)
    return exponential(knot.log_length + slope * (z - knot.z)) * normal_density(z) * mills_ratio(slope - z);
  return exponential(knot.log_length - slope * knot.z + slope * slope / 2.0) * normal_cumulative(z - slope);
}

/// Returns the expected length, capped at `cap`, before rounding to integers.
double mean_of(const LogLengths& lengths, double cap) {
  const double cap_z = z_of(lengths, cap);
  const auto& knots = lengths.knots;
  double mean = mean_before(std::min(knots.front().z, cap_z), knots.front(), lengths.spread_below);
  for (std::size_t i = 0; i < knots.size() && knots[i].z < cap_z; ++i) {
    const double end = std::min(cap_z, i + 1 == knots.size() ? beyond_all : knots[i + 1].z);
    const double slope = lengths.slope_after(i);
    mean += mean_before(end, knots[i], slope) - mean_before(knots[i].z, knots[i], slope);
  }
  return mean + cap * normal_cumulative(-cap_z);
}

/// Where a curve over [least, most] first reaches a value, or the range of its values if it does not.
struct Crossing {
  std::optional<double> at;
  double lowest = 0.0;
  double highest = 0.0;
};

template <class Curve>
Crossing find_crossing(const Curve& curve, double wanted, double least, double most) {
  constexpr int steps = 100;
  constexpr int halvings = 60;
  double left = least;
  double left_value = curve(least);
  Crossing crossing{std::nullopt, left_value, left_value};
  for (int step = 1; step <= steps; ++step) {
    double right = least + (most - least) * step / steps;
    const double right_value = curve(right);
    crossing.lowest = std::min(crossing.lowest, right_value);
    crossing.highest = std::max(crossing.highest, right_value);
    if ((left_value - wanted) * (right_value - wanted) <= 0.0) {
      const bool rises = left_value < right_value;
      for (int i = 0; i < halvings; ++i) {
        const double middle = (left + right) / 2.0;
        ((curve(middle) < wanted) == rises ? left : right) = middle;
      }
      crossing.at = left;
      return crossing;
    }
    left = right;
    left_value = right_value;
  }
  return crossing;
}

struct Quantile {
  std::string_view name;
  double probability;
  std::optional<double> length;
};

std::array<Quantile, 3> quantiles_of(const LengthFigures& figures) {
  return {{{"p50", 0.5, figures.p50}, {"p90", 0.9, figures.p90}, {"p99", 0.99, figures.p99}}};
}

double cap_of(const LengthFigures& figures) { return static_cast<double>(figures.cap.value_or(max_length)); }

/// Returns the quantiles that determine lengths below the cap.
std::vector<LogLengths::Knot> knots_of(const LengthFigures& figures) {
  std::vector<LogLengths::Knot> knots;
  bool at_cap = false;
  for (const Quantile& quantile : quantiles_of(figures)) {
    if (!quantile.length || at_cap) continue;
    at_cap = figures.cap && *quantile.length >= cap_of(figures);
    if (at_cap && figures.at_cap) break;  // at_cap gives the quantile where the cap begins
    knots.push_back({normal_quantile(quantile.probability), natural_log(*quantile.length)});
  }
  if (figures.at_cap) knots.push_back({-normal_quantile(*figures.at_cap), natural_log(cap_of(figures))});
  return knots;
}

/// Fits the curve to all figures, or returns a fault of the mean. REQUIRES: no other faults.
std::optional<FigureFault> fit(const LengthFigures& figures, LogLengths& lengths) {
  lengths.knots = knots_of(figures);
  if (lengths.knots.size() > 1) {
    lengths.spread_below = lengths.slope_after(0);
    lengths.spread_above = lengths.slope_after(lengths.knots.size() - 2);
  }
  if (figures.sigma) lengths.spread_below = lengths.spread_above = *figures.sigma;
  if (!figures.mean) return std::nullopt;
  const double cap = cap_of(figures);
  Crossing crossing;
  if (lengths.knots.empty()) {
    lengths.knots.push_back({0.0, 0.0});
    const auto mean_at = [&](double log_median) {
      lengths.knots.front().log_length = log_median;
      return mean_of(lengths, cap);
    };
    crossing = find_crossing(mean_at, *figures.mean, -20.0, 50.0);
    if (crossing.at) lengths.knots.front().log_length = *crossing.at;
  } else {
    const bool only_below = lengths.knots.size() > 1;
    const auto mean_at = [&](double spread) {
      lengths.spread_below = spread;
      if (!only_below) lengths.spread_above = spread;
      return mean_of(lengths, cap);
    };
    crossing = find_crossing(mean_at, *figures.mean, 0.0, max_sigma);
    if (crossing.at) mean_at(*crossing.at);
  }
  if (crossing.at) return std::nullopt;
  return FigureFault{
      "mean",
      fmt::format("`mean` is {}, which the other statistics rule out for any spread; accepted: from {:.0f} to {:.0f}",
                  *figures.mean, std::ceil(crossing.lowest - 1e-6), std::floor(crossing.highest + 1e-6))};
}

std::optional<FigureFault> find_range_fault(const LengthFigures& figures) {
  const auto out_of_range = [](std::string_view figure, double value, double least, double most) {
    return FigureFault{figure, fmt::format("`{}` is {}; accepted: a number from {} to {}", figure, value, least, most)};
  };
  constexpr auto most = static_cast<double>(max_length);
  const std::array<std::pair<std::string_view, std::optional<double>>, 4> lengths{
      {{"p50", figures.p50}, {"p90", figures.p90}, {"p99", figures.p99}, {"mean", figures.mean}}};
  for (const auto& [name, length] : lengths)
    if (length && !(*length >= 1.0 && *length <= most)) return out_of_range(name, *length, 1.0, most);
  if (figures.sigma && !(*figures.sigma >= 0.0 && *figures.sigma <= max_sigma))
    return out_of_range("sigma", *figures.sigma, 0.0, max_sigma);
  if (figures.cap && (*figures.cap < 1 || *figures.cap > max_length))
    return out_of_range("cap", static_cast<double>(*figures.cap), 1.0, most);
  if (!figures.at_cap) return std::nullopt;
  if (!(*figures.at_cap >= 1e-9 && *figures.at_cap <= 1.0 - 1e-9))
    return FigureFault{
        "at_cap",
        fmt::format("`at_cap` is {}; accepted: from 1e-9 to 1 - 1e-9, or no `at_cap` if no length reaches the cap",
                    *figures.at_cap)};
  if (!figures.cap) return FigureFault{"at_cap", "`at_cap` needs `cap`; accepted: both or neither"};
  if (*figures.cap == 1)
    return FigureFault{"cap", "`cap` is 1, and no length is below it; accepted: at least 2 with `at_cap`"};
  return std::nullopt;
}

std::optional<FigureFault> find_quantile_fault(const LengthFigures& figures) {
  std::optional<Quantile> below;
  for (const Quantile& quantile : quantiles_of(figures)) {
    if (!quantile.length) continue;
    const auto fault = [&](const std::string& accepted) {
      return FigureFault{quantile.name,
                         fmt::format("`{}` is {}; accepted: {}", quantile.name, *quantile.length, accepted)};
    };
    if (below && *quantile.length < *below->length)
      return fault(fmt::format("at least {} (`{}`)", *below->length, below->name));
    below = quantile;
    if (!figures.cap) continue;
    const double cap = cap_of(figures);
    if (*quantile.length > cap) return fault(fmt::format("at most {} (`cap`)", cap));
    if (!figures.at_cap) continue;
    // A number such as 1 - 0.99 has no exact representation.
    const double beyond = *figures.at_cap - (1.0 - quantile.probability);
    constexpr double rounding = 1e-12;
    if (*quantile.length < cap && beyond > -rounding)
      return fault(fmt::format("{} (`cap`) because `at_cap` is {}, or a smaller `at_cap`", cap, *figures.at_cap));
    if (*quantile.length == cap && beyond < -rounding)
      return fault(
          fmt::format("less than {} (`cap`) because `at_cap` is {}, or a larger `at_cap`", cap, *figures.at_cap));
  }
  return std::nullopt;
}

std::optional<FigureFault> find_count_fault(const LengthFigures& figures) {
  const std::size_t quantiles = knots_of(figures).size();
  const std::size_t known = quantiles + (figures.mean ? 1 : 0);
  if (figures.sigma && known != 1)
    return FigureFault{"sigma",
                       fmt::format("`sigma` is combined with {}; accepted: exactly one of p50, p90, p99, mean, at_cap",
                                   known == 0 ? "no other statistic" : "more than one statistic")};
  if (figures.sigma == 0.0 && figures.at_cap)
    return FigureFault{"sigma", "`sigma` is 0; accepted: more than 0 with `at_cap`"};
  if (!figures.sigma && known < 2)
    return FigureFault{"",
                       "the given values are not enough to determine the lengths; accepted: two or more of p50, p90, "
                       "p99, mean, at_cap (with cap), or sigma with one of them; values at the cap count once"};
  if (figures.mean && figures.cap && *figures.mean >= cap_of(figures))
    return FigureFault{"mean",
                       fmt::format("`mean` is {}; accepted: less than {} (`cap`)", *figures.mean, *figures.cap)};
  return std::nullopt;
}

}  // namespace

std::optional<FigureFault> find_fault(const LengthFigures& figures) {
  if (auto fault = find_range_fault(figures)) return fault;
  if (auto fault = find_quantile_fault(figures)) return fault;
  if (auto fault = find_count_fault(figures)) return fault;
  LogLengths lengths;
  return fit(figures, lengths);
}

LengthDistribution log_normal_lengths(const LengthFigures& figures) {
  DOVETAIL_ASSERT(!find_fault(figures));
  LogLengths lengths;
  fit(figures, lengths);
  // Only probabilities below half a weight are lost.
  const auto weight_before = [&](double length) {
    const double weight = static_cast<double>(max_weight) * normal_cumulative(z_of(lengths, length));
    return static_cast<std::int64_t>(weight + 0.5);  // NOLINT(bugprone-incorrect-roundings)
  };
  const auto cap = static_cast<std::int64_t>(cap_of(figures));
  std::int64_t longest = 1;
  for (std::int64_t step = max_length; step > 0; step /= 2) {
    const std::int64_t longer = longest + step;
    if (longer <= cap && weight_before(static_cast<double>(longer) - 0.5) < max_weight) longest = longer;
  }
  std::vector<LengthPoint> points;
  std::int64_t before = 0;
  for (const auto& [first, last] : length_bins(longest - 1)) {
    if (last < 1) continue;  // no length is shorter than one token
    // Lengths that the cap cuts count at the cap. Others round to the nearest integer.
    const bool before_cap = last + 1 == cap;
    const std::int64_t up_to = weight_before(static_cast<double>(last) + (before_cap ? 1.0 : 0.5));
    points.push_back({(first + last) / 2, up_to - before});
    before = up_to;
  }
  points.push_back({longest, max_weight - before});
  base::Result<LengthDistribution> distribution = LengthDistribution::of(std::move(points));
  DOVETAIL_ASSERT(distribution.ok());
  return std::move(distribution).value();
}

}  // namespace dovetail::workflow
