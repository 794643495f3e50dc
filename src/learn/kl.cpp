#include "learn/kl.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"

namespace dovetail::learn {

double kl_of(KlEstimator estimator, double log_ratio) {
  switch (estimator) {
    case KlEstimator::k1:
      return log_ratio;
    case KlEstimator::k2:
      return log_ratio * log_ratio / 2;
    case KlEstimator::k3:
      break;
  }
  return std::expm1(-log_ratio) + log_ratio;
}

double kl_slope(KlEstimator estimator, double log_ratio) {
  switch (estimator) {
    case KlEstimator::k1:
      return 1;
    case KlEstimator::k2:
      return log_ratio;
    case KlEstimator::k3:
      break;
  }
  return -std::expm1(-log_ratio);
}

void update(AdaptiveKl& control, double divergence, std::int64_t samples) {
  DOVETAIL_ASSERT(control.target > 0 && control.horizon > 0);
  constexpr double most = 0.2;
  const double error = std::clamp(divergence / control.target - 1, -most, most);
  control.coefficient *= std::max(0.0, 1 + error * static_cast<double>(samples) / control.horizon);
}

}  // namespace dovetail::learn
