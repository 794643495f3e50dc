#include "learn/rewards.h"

#include "base/assert.h"

namespace dovetail::learn {

std::vector<double> token_rewards(double reward, std::span<const double> log_ratios, double coefficient,
                                  KlEstimator estimator) {
  DOVETAIL_ASSERT(!log_ratios.empty());
  std::vector<double> rewards;
  rewards.reserve(log_ratios.size());
  for (const double log_ratio : log_ratios) rewards.push_back(-coefficient * kl_of(estimator, log_ratio));
  rewards.back() += reward;
  return rewards;
}

}  // namespace dovetail::learn
