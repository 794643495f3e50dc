// Length distributions from summary statistics: quantiles, mean, spread, cap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "workflow/lengths.h"

namespace dovetail::workflow {

/// Statistics of lengths in tokens. All of them describe the lengths after the cap has cut them.
struct LengthFigures {
  std::optional<double> p50 = {};        ///< median
  std::optional<double> p90 = {};        ///< 90th percentile
  std::optional<double> p99 = {};        ///< 99th percentile
  std::optional<double> mean = {};       ///< expected length
  std::optional<double> sigma = {};      ///< standard deviation of the logarithm of the length, from 0 to max_sigma
  std::optional<std::int64_t> cap = {};  ///< maximum length
  std::optional<double> at_cap = {};     ///< fraction of the lengths at the cap, between 0 and 1
};

inline constexpr double max_sigma = 5.0;

/// The first reason why statistics determine no log-normal distribution.
struct FigureFault {
  std::string_view figure;  ///< the statistic at fault, such as "p90"; "" if there are too few
  std::string message;      ///< what is wrong, and what is accepted
};

/// Returns why log_normal_lengths() cannot meet these statistics, or nullopt if it can.
///
/// Two of p50, p90, p99, at_cap (with a cap), mean and sigma determine a log-normal distribution. One alone does not.
/// sigma must be combined with exactly one other. Contradictions are faults: quantiles that decrease or exceed the cap,
/// an at_cap that implies another quantile than the one given, or a mean that no spread yields with these quantiles.
std::optional<FigureFault> find_fault(const LengthFigures& figures);

/// Returns the distribution with these statistics. REQUIRES: !find_fault(figures).
///
/// Two statistics give a log-normal distribution, cut at the cap. No log-normal meets more than two quantiles exactly
/// (at_cap counts as one: 1 - at_cap of the lengths are below the cap). In that case the logarithm of the length is
/// piecewise linear in the normal quantile, through all given quantiles. The outer segments extend to both sides. A
/// mean with at least two quantiles sets the spread below the lowest quantile.
///
/// Each integer length has the probability of the values that round to it, and the minimum is one token. The mean is
/// exact before this rounding. Quantiles are exact if there are at most max_length_points lengths, and otherwise within
/// 1 part in 300. Lengths rarer than 1 in 10^11 are dropped.
LengthDistribution log_normal_lengths(const LengthFigures& figures);

}  // namespace dovetail::workflow
