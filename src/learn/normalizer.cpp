#include "learn/normalizer.h"

#include <algorithm>
#include <cmath>

namespace dovetail::learn {

double RunningMoments::mean() const { return weight > 0 ? mean_sum / weight : 0; }

double RunningMoments::deviation() const {
  if (weight <= 0) return 1;
  constexpr double min_variance = 1e-4;
  return std::sqrt(std::max(min_variance, square_sum / weight - mean() * mean()));
}

void update(RunningMoments& moments, std::span<const double> batch) {
  if (batch.empty()) return;
  double sum = 0;
  double squares = 0;
  for (const double value : batch) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(batch.size());
  const double rest = 1 - moments.decay;
  moments.mean_sum = moments.decay * moments.mean_sum + rest * sum / count;
  moments.square_sum = moments.decay * moments.square_sum + rest * squares / count;
  moments.weight = moments.decay * moments.weight + rest;
}

}  // namespace dovetail::learn
