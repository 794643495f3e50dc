// A distribution of lengths from the figures that people know of it: quantiles, mean, spread, cap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "workflow/lengths.h"

namespace dovetail::workflow {

/// What is known of some lengths in tokens. All figures are of the lengths as they come out, after the cap has cut
/// them.
struct LengthFigures {
  std::optional<double> p50 = {};        ///< half are at most so long
  std::optional<double> p90 = {};        ///< 90% are
  std::optional<double> p99 = {};        ///< 99% are
  std::optional<double> mean = {};       ///< the expected length
  std::optional<double> sigma = {};      ///< standard deviation of the logarithm of the length, from 0 to max_sigma
  std::optional<std::int64_t> cap = {};  ///< what would be longer ends here
  std::optional<double> at_cap = {};     ///< the fraction that ends at the cap, between 0 and 1
};

inline constexpr double max_sigma = 5.0;

/// The first figure that does not go with the others.
struct FigureFault {
  std::string_view figure;  ///< "p90", or "" where there are too few or too many
  std::string message;      ///< what is wrong; what is accepted
};

/// Why log_normal_lengths() has no answer, or nothing.
///
/// Two of p50, p90, p99, at_cap (with a cap), mean and sigma determine a log-normal; with one alone there are many.
/// sigma stands beside one other. Contradictions are faults: quantiles that fall or lie beyond the cap, an at_cap that
/// says another quantile than the one given, a mean that no spread has with the quantiles given.
std::optional<FigureFault> find_fault(const LengthFigures& figures);

/// The distribution with these figures. REQUIRES: no find_fault(figures).
///
/// Two figures: log-normal, cut at the cap. More than two quantiles (at_cap is one: 1 - at_cap of the lengths are below
/// the cap), which no log-normal meets exactly: the logarithm of the length is linear in the normal quantile from each
/// to the next, and goes on beyond the outer ones as between the nearest two, so all are met. A mean beside two
/// quantiles or more: it chooses the spread below the lowest quantile, which nothing else says.
///
/// Each whole length has the probability of what rounds to it, at least one token. A mean is met before that rounding;
/// a quantile, where there are no more than max_length_points lengths, to the token, else within one part in 300. What
/// is rarer than 1 in 10^11 is left out.
LengthDistribution log_normal_lengths(const LengthFigures& figures);

}  // namespace dovetail::workflow
