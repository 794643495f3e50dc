#include "learn/losses.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/assert.h"

namespace dovetail::learn {

PolicyLoss policy_loss(double new_log_probability, double old_log_probability, double advantage, const PolicyClip& clip,
                       double importance) {
  PolicyLoss result;
  result.ratio = std::exp(new_log_probability - old_log_probability);
  const double free = -advantage * result.ratio;
  const double clipped = -advantage * std::clamp(result.ratio, 1 - clip.below, 1 + clip.above);
  result.clipped = clipped > free;
  result.loss.value = importance * std::max(free, clipped);
  // The derivative of exp(new - old) is itself. A clipped ratio is constant.
  result.loss.slope = result.clipped ? 0 : importance * free;
  return result;
}

double truncated_importance(double old_log_probability, double sampled_log_probability, std::optional<double> cap) {
  if (!cap) return 1;
  return std::min(std::exp(old_log_probability - sampled_log_probability), *cap);
}

Loss value_loss(double value, double old_value, double target, std::optional<double> clip) {
  const auto half_square = [&](double at) { return Loss{(at - target) * (at - target) / 2, at - target}; };
  Loss free = half_square(value);
  if (!clip) return free;
  const double moved = old_value + std::clamp(value - old_value, -*clip, *clip);
  Loss clipped = half_square(moved);
  if (clipped.value <= free.value) return free;
  if (moved != value) clipped.slope = 0;
  return clipped;
}

Loss kl_loss(KlEstimator estimator, double log_probability, double reference_log_probability, double coefficient) {
  const double log_ratio = log_probability - reference_log_probability;
  return {coefficient * kl_of(estimator, log_ratio), coefficient * kl_slope(estimator, log_ratio)};
}

Loss preference_loss(double margin) {
  // log(1 + exp(-m)) without overflow; for large -m it is -m.
  const double value = margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
  const double slope = margin > 0 ? -std::exp(-margin) / (1 + std::exp(-margin)) : -1 / (1 + std::exp(margin));
  return {value, slope};
}

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
  constexpr double limit = 0.2;
  const double error = std::clamp(divergence / control.target - 1, -limit, limit);
  control.coefficient *= std::max(0.0, 1 + error * static_cast<double>(samples) / control.horizon);
}

std::vector<double> token_weights(TokenWeighting weighing, std::span<const std::int64_t> lengths,
                                  std::int64_t max_length) {
  DOVETAIL_ASSERT(max_length > 0);
  const auto total = static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
  const auto filled = static_cast<double>(
      std::count_if(lengths.begin(), lengths.end(), [](std::int64_t length) { return length > 0; }));
  std::vector<double> weights;
  for (const std::int64_t length : lengths) {
    DOVETAIL_ASSERT(length >= 0 && length <= max_length);
    if (length == 0) {
      weights.push_back(0);
    } else if (weighing == TokenWeighting::tokens) {
      weights.push_back(1 / total);
    } else {
      const std::int64_t tokens = weighing == TokenWeighting::sequences ? length : max_length;
      weights.push_back(1 / (filled * static_cast<double>(tokens)));
    }
  }
  return weights;
}

}  // namespace dovetail::learn
