#include "learn/losses.h"

#include <algorithm>
#include <cmath>

namespace dovetail::learn {

PolicyLoss policy_loss(double new_log_probability, double old_log_probability, double advantage, const PolicyClip& clip,
                       double importance) {
  PolicyLoss result;
  result.ratio = std::exp(new_log_probability - old_log_probability);
  const double free = -advantage * result.ratio;
  const double clipped = -advantage * std::clamp(result.ratio, 1 - clip.below, 1 + clip.above);
  result.clipped = clipped > free;
  result.loss.value = importance * std::max(free, clipped);
  // The derivative of exp(new - old) is itself; a clipped ratio stands still.
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
  // log(1 + exp(-m)) without overflow: of a large -m it is -m.
  const double value = margin > 0 ? std::log1p(std::exp(-margin)) : std::log1p(std::exp(margin)) - margin;
  const double slope = margin > 0 ? -std::exp(-margin) / (1 + std::exp(-margin)) : -1 / (1 + std::exp(margin));
  return {value, slope};
}

}  // namespace dovetail::learn
