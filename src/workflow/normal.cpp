#include "workflow/normal.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/assert.h"
#include "base/random.h"

namespace dovetail::workflow {
namespace {

/// Evaluates the polynomial with these coefficients, highest power first.
template <std::size_t count>
double polynomial(const double (&coefficients)[count], double x) {
  double value = coefficients[0];
  for (std::size_t i = 1; i < count; ++i) value = value * x + coefficients[i];
  return value;
}

// P. J. Acklam, "An algorithm for computing the inverse normal cumulative distribution function", 2003.
constexpr double middle_numerator[] = {-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                                       1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
constexpr double middle_denominator[] = {-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                                         6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
constexpr double tail_numerator[] = {-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                                     -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
constexpr double tail_denominator[] = {7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                       3.754408661907416e+00, 1.0};
constexpr double tail_begins = 0.02425;

/// Start of the range in which Laplace's continued fraction converges quickly.
constexpr double fraction_begins = 4.0;

/// Returns the quantile of a probability in the lower tail, which is negative.
double tail_quantile(double p) {
  const double q = std::sqrt(2.0 * base::negative_log(p));
  return polynomial(tail_numerator, q) / polynomial(tail_denominator, q);
}

}  // namespace

double exponential(double x) {
  DOVETAIL_ASSERT(x >= -700.0 && x <= 700.0);
  // x = doublings * ln 2 + rest. The first part of ln 2 has few digits, so that its multiples are exact.
  constexpr double ln_2_high = 0x1.62e42feep-1;
  constexpr double ln_2_low = 0x1.a39ef35793c76p-33;
  const auto doublings = static_cast<std::int64_t>(x / ln_2_high + (x < 0.0 ? -0.5 : 0.5));
  const double rest = x - static_cast<double>(doublings) * ln_2_high - static_cast<double>(doublings) * ln_2_low;
  double sum = 1.0;
  for (int power = 14; power > 0; --power) sum = 1.0 + sum * rest / power;
  return sum * std::bit_cast<double>(static_cast<std::uint64_t>(1023 + doublings) << 52);
}

double natural_log(double x) {
  DOVETAIL_ASSERT(x >= 1e-300 && x <= 1e300);
  return x > 1.0 ? base::negative_log(1.0 / x) : -base::negative_log(x);
}

double normal_density(double z) {
  constexpr double one_by_root_of_two_pi = 0.398942280401432677940;
  return one_by_root_of_two_pi * exponential(-z * z / 2.0);
}

double normal_cumulative(double z) {
  if (z > 0.0) return 1.0 - normal_cumulative(-z);
  if (z <= no_probability_before) return 0.0;
  if (z <= -fraction_begins) return normal_density(z) * mills_ratio(-z);
  // 1/2 + density * (z + z^3/3 + z^5/(3*5) + ...): Marsaglia, "Evaluating the normal distribution", 2004.
  double sum = z;
  double term = z;
  for (int odd = 3; term < 1e-17 * sum; odd += 2) {
    term *= z * z / odd;
    sum += term;
  }
  return 0.5 + normal_density(z) * sum;
}

double mills_ratio(double x) {
  DOVETAIL_ASSERT(x >= 0.0);
  if (x < fraction_begins) return normal_cumulative(-x) / normal_density(x);
  // Laplace's continued fraction, evaluated from the end.
  double fraction = x;
  for (int term = 40; term > 0; --term) fraction = x + term / fraction;
  return 1.0 / fraction;
}

double normal_quantile(double p) {
  DOVETAIL_ASSERT(p >= 1e-300 && p < 1.0);
  if (p < tail_begins) return tail_quantile(p);
  if (p > 1.0 - tail_begins) return -tail_quantile(1.0 - p);
  const double q = p - 0.5;
  return q * polynomial(middle_numerator, q * q) / polynomial(middle_denominator, q * q);
}

}  // namespace dovetail::workflow
