// The normal distribution, its quantiles, and the exponential and logarithm that they need.
//
// They use only IEEE +, -, *, / and square root, which give the same results on every machine. Distributions of lengths
// therefore have the same weights everywhere. Functions of libm may differ in the last bit.
#pragma once

namespace dovetail::workflow {

/// Returns e^x, within 1e-14 of its value. REQUIRES: |x| <= 700.
double exponential(double x);

/// Returns ln(x), within 1e-12 (absolute). REQUIRES: 1e-300 <= x <= 1e300.
double natural_log(double x);

/// Normal quantile below which the probability counts as 0.
inline constexpr double no_probability_before = -37.0;

/// Returns the standard normal density at z, within a relative 1e-12. REQUIRES: |z| <= -no_probability_before.
double normal_density(double z);

/// Returns the standard normal probability of at most z, within 1e-14, and within a relative 1e-10 far below 0.
double normal_cumulative(double z);

/// Returns Mills' ratio: the probability of more than x divided by the density at x, within a relative 1e-10. It is
/// defined even if both underflow. REQUIRES: x >= 0.
double mills_ratio(double x);

/// Returns the z with normal_cumulative(z) = p, within a relative 2e-9, by Acklam's rational approximation (2003).
/// REQUIRES: 1e-300 <= p < 1.
double normal_quantile(double p);

}  // namespace dovetail::workflow
