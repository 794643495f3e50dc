// Losses of single tokens and pairs with their derivatives: whoever trains sends the derivative back through the model.
// So no loss needs tensors, and what is tested here is what runs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/enum_names.h"

namespace dovetail::learn {

/// A loss and its derivative by the number that the model gave.
struct Loss {
  double value = 0;
  double slope = 0;
};

/// How a policy is kept near the one that sampled.
struct PolicyClip {
  double below = 0.2;  ///< ratios are clipped to [1 - below, 1 + above]
  double above = 0.2;
};

/// A token's loss of PPO, and what is told of it.
struct PolicyLoss {
  Loss loss;  ///< by the new log-probability
  double ratio = 1;
  bool clipped = false;  ///< the clipped side is the loss: nothing is learned from the token
};

/// max(-A ratio, -A clip(ratio)) with ratio = exp(new - old) (Schulman et al. 2017, arXiv 1707.06347, equation 7).
/// `importance`: a factor that does not depend on the new log-probability, of a sampler that is not the trained policy.
PolicyLoss policy_loss(double new_log_probability, double old_log_probability, double advantage, const PolicyClip& clip,
                       double importance = 1);

/// min(exp(old - sampled), cap): the weight of a token that another program sampled with other rounding or older
/// weights ("truncated importance sampling"); 1 without a cap.
double truncated_importance(double old_log_probability, double sampled_log_probability, std::optional<double> cap);

/// The loss of a value: half of the squared distance to the return; where `clip` is given the larger one of that and
/// the distance of the value when it moves at most so far from the old value (the clipping of PPO's reference code).
Loss value_loss(double value, double old_value, double target, std::optional<double> clip);

/// The penalty in the loss: coefficient times the estimate, by the policy's log-probability.
Loss kl_loss(KlEstimator estimator, double log_probability, double reference_log_probability, double coefficient);

/// -log sigmoid(margin) (Bradley and Terry), by the margin: chosen minus rejected, of scores (a reward model) or of
/// beta times log-ratios (DPO, arXiv 2305.18290, equation 7).
Loss preference_loss(double margin);

/// Of r = log policy - log reference of a sampled token: k1 = r, k2 = r^2 / 2, k3 = exp(-r) - 1 + r. Over tokens that
/// the policy samples the means of k1 and k3 are the divergence, of which k3 is never below 0; that of k2 is near it.
enum class KlEstimator { k1, k2, k3 };
constexpr auto names_of(KlEstimator) {
  return std::array{base::EnumName{"k1", KlEstimator::k1}, base::EnumName{"k2", KlEstimator::k2},
                    base::EnumName{"k3", KlEstimator::k3}};
}

/// The estimate of one token, and its derivative by `log_ratio`.
double kl_of(KlEstimator estimator, double log_ratio);
double kl_slope(KlEstimator estimator, double log_ratio);

/// A coefficient that keeps the divergence near a target (Ziegler et al. 2019, arXiv 1909.08593, section 2.2).
struct AdaptiveKl {
  double coefficient = 0.1;
  double target = 6;        ///< the mean divergence of a response
  double horizon = 10'000;  ///< samples in which the coefficient may change by a fifth
};

/// Moves the coefficient by clip(divergence / target - 1, -0.2, 0.2) * samples / horizon of itself. `divergence`: the
/// mean over the responses of an iteration of the sum over a response's tokens.
void update(AdaptiveKl& control, double divergence, std::int64_t samples);

enum class Weighing {
  tokens,     ///< all tokens of the mini-batch alike (DAPO, arXiv 2503.14476, section 3.3)
  sequences,  ///< all responses alike, whatever their lengths (GRPO)
  constant,   ///< each token as one of a response of the greatest length (Dr. GRPO, arXiv 2503.20783)
};
constexpr auto names_of(Weighing) {
  return std::array{base::EnumName{"tokens", Weighing::tokens}, base::EnumName{"sequences", Weighing::sequences},
                    base::EnumName{"constant", Weighing::constant}};
}

/// The weight of each token of each response; they add up to 1 but for `constant`, where they do for responses of
/// `max_length`. A response without tokens has no part. REQUIRES: lengths are from 0 to `max_length`, which is above 0.
std::vector<double> token_weights(Weighing weighing, std::span<const std::int64_t> lengths, std::int64_t max_length);

}  // namespace dovetail::learn
