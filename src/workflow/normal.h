// The normal distribution, its quantiles, and the exponential and logarithm that they need.
//
// These functions use only IEEE +, -, *, / and square root, which give the same results on every machine. Functions of
// libm may differ in the last bit. Distributions of lengths therefore have the same weights everywhere.
#pragma once

namespace dovetail::workflow {

/// Returns e^x, within a relative 1e-14. REQUIRES: |x| <= 700.
double exponential(double x);

/// Returns ln(x), within 1e-12 (absolute). REQUIRES: 1e-300 <= x <= 1e300.
double natural_log(double x);

/// z at and below which normal_cumulative returns 0.
inline constexpr double no_probability_before = -37.0;

/// Returns the standard normal density at z, within a relative 1e-12. REQUIRES: |z| <= -no_probability_before.
double normal_density(double z);

/// Returns the probability that a standard normal variable is at most z. The absolute error is at most 1e-14. Above
/// no_probability_before and up to -1, the relative error is at most 1e-10.
double normal_cumulative(double z);

/// Returns Mills' ratio (1 - normal_cumulative(x)) / normal_density(x), within a relative 1e-10. The result is correct
/// even if numerator and denominator underflow. REQUIRES: x >= 0.
double mills_ratio(double x);

/// Returns the z with normal_cumulative(z) = p, within a relative 2e-9, by Acklam's rational approximation (2003).
/// REQUIRES: 1e-300 <= p < 1.
double normal_quantile(double p);

}  // namespace dovetail::workflow
