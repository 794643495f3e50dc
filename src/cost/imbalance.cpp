#include "cost/imbalance.h"

#include <algorithm>
#include <cmath>

#include "workflow/normal.h"

namespace dovetail::cost {
namespace {

/// Expected powers of what a length is beyond the mean.
struct CentralMoments {
  double second = 0;
  double third = 0;
  double fourth = 0;
};

CentralMoments central_moments(const workflow::LengthDistribution& lengths) {
  const double mean = lengths.mean();
  CentralMoments sums;
  for (const workflow::LengthPoint& point : lengths.points()) {
    const double beyond = static_cast<double>(point.length) - mean;
    const double square = static_cast<double>(point.weight) * beyond * beyond;
    sums.second += square;
    sums.third += square * beyond;
    sums.fourth += square * beyond * beyond;
  }
  const auto weight = static_cast<double>(lengths.total_weight());
  return {sums.second / weight, sums.third / weight, sums.fourth / weight};
}

/// The variance of linear l + square l^2. With d what l is beyond the mean that is (linear + 2 square mean) d + square
/// d^2, and a constant.
double variance_of(double linear, double square, const workflow::LengthDistribution& lengths) {
  const CentralMoments moments = central_moments(lengths);
  const double slope = linear + 2 * square * lengths.mean();
  const double variance = slope * slope * moments.second + 2 * slope * square * moments.third +
                          square * square * (moments.fourth - moments.second * moments.second);
  return std::max(0.0, variance);
}

/// The largest of so many independent standard normal variables; 0 of one.
double max_normal(int count) { return workflow::normal_quantile((count - 0.375) / (count + 0.25)); }

}  // namespace

double imbalance_seconds(const SequenceSeconds& added, double prompt, const workflow::LengthDistribution& responses,
                         double sequences, int instances) {
  if (instances <= 1) return 0;
  const double variance = variance_of(added.step + added.context * prompt, added.context / 2, responses);
  return max_normal(instances) * std::sqrt(sequences * variance);
}

}  // namespace dovetail::cost
