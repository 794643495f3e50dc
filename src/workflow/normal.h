// The normal distribution, its quantiles, and the exponential and logarithm they need.
//
// Only IEEE +, -, *, / and square root are used, which round alike everywhere, so that a distribution of lengths has
// the same weights on every machine. The functions of libm differ in the last bit from one to the other.
#pragma once

namespace dovetail::workflow {

/// e^x, within 1e-14 of its value. REQUIRES: |x| <= 700.
double exponential(double x);

/// ln(x), within 1e-12 (absolute). REQUIRES: 1e-300 <= x <= 1e300.
double natural_log(double x);

/// The probability before this z is taken for 0.
inline constexpr double no_probability_before = -37.0;

/// The density of a standard normal variable at z, within a relative 1e-12. REQUIRES: |z| <= -no_probability_before.
double normal_density(double z);

/// The probability that it is at most z, within 1e-14; far below 0 within a relative 1e-10.
double normal_cumulative(double z);

/// The probability of more than x, by the density at x (Mills' ratio), within a relative 1e-10; there is one for x
/// where both are too small for numbers. REQUIRES: x >= 0.
double mills_ratio(double x);

/// The z with normal_cumulative(z) = p, within a relative 2e-9: Acklam's rational approximation (2003). REQUIRES:
/// 1e-300 <= p < 1.
double normal_quantile(double p);

}  // namespace dovetail::workflow
