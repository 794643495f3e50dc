// Length distributions from summary statistics: quantiles, mean, spread, cap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "workflow/lengths.h"

namespace dovetail::workflow {

/// Statistics of lengths in tokens. All except `sigma` describe the lengths after the cap has cut them.
struct LengthFigures {
  std::optional<double> p50 = {};        ///< median
  std::optional<double> p90 = {};        ///< 90th percentile
  std::optional<double> p99 = {};        ///< 99th percentile
  std::optional<double> mean = {};       ///< expected length
  std::optional<double> sigma = {};      ///< standard deviation of the logarithm of the uncut length, 0 to max_sigma
  std::optional<std::int64_t> cap = {};  ///< maximum length
  std::optional<double> at_cap = {};     ///< fraction of the lengths at the cap, from 1e-9 to 1 - 1e-9; needs `cap`
};

inline constexpr double max_sigma = 5.0;

/// Value of `sigma` where the spread of response lengths is unknown.
inline constexpr double default_sigma = 0.8;

/// The first reason why statistics do not determine a distribution.
struct FigureFault {
  std::string_view figure;  ///< the statistic at fault, such as "p90"; "" if there are too few
  std::string message;      ///< what is wrong, and what is accepted
};

/// Returns why log_normal_lengths() cannot meet these statistics, or nullopt if it can.
///
/// Two of p50, p90, p99, at_cap, mean and sigma determine a log-normal distribution. One alone does not. sigma must be
/// combined with exactly one of the others. More than two are accepted without sigma. Quantiles at the cap and at_cap
/// count as one. Values out of range, at_cap without cap, and contradictions are faults. Contradictions are quantiles
/// that decrease or exceed the cap, an at_cap that contradicts a given quantile or a sigma of 0, and a mean that is not
/// below the cap or that no spread yields with the other statistics.
std::optional<FigureFault> find_fault(const LengthFigures& figures);

/// Returns the distribution with these statistics. REQUIRES: !find_fault(figures).
///
/// Two statistics give a log-normal distribution, cut at the cap. More than two quantiles rarely fit one log-normal
/// distribution. at_cap counts as a quantile: 1 - at_cap of the lengths are below the cap. With more than two
/// quantiles, the logarithm of the length is piecewise linear in the normal quantile, and the curve passes through all
/// of them. The first and the last segment extend beyond the given quantiles. If there are at least two quantiles and a
/// mean, the mean determines the slope below the lowest quantile.
///
/// Each integer length has the probability of the values that round to it, and the minimum is one token. The mean is
/// exact before this rounding. Quantiles are exact if there are at most max_length_points lengths, and otherwise within
/// 1 part in 300. Lengths rarer than 1 in 10^11 are dropped.
LengthDistribution log_normal_lengths(const LengthFigures& figures);

}  // namespace dovetail::workflow
