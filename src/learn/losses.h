// Losses of single tokens and pairs with their derivatives, KL estimates, and the weights of tokens in a mini-batch.
// The trainer backpropagates the derivatives through the model, so the losses do not need tensors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/enum_names.h"

namespace dovetail::learn {

/// Estimator of the KL divergence from a reference, from sampled tokens (Schulman, "Approximating KL Divergence", 2020:
/// joschu.net/blog/kl-approx.html). With r = log policy - log reference of a sampled token: k1 = r, k2 = r^2 / 2,
/// k3 = exp(-r) - 1 + r. For tokens sampled from the policy, the expected values of k1 and k3 equal the divergence, and
/// the expected value of k2 approximates it. k2 and k3 are never negative.
enum class KlEstimator { k1, k2, k3 };
constexpr auto names_of(KlEstimator) {
  return std::array{base::EnumName{"k1", KlEstimator::k1}, base::EnumName{"k2", KlEstimator::k2},
                    base::EnumName{"k3", KlEstimator::k3}};
}

/// Returns the estimate for one token.
double kl_of(KlEstimator estimator, double log_ratio);
/// Returns the derivative of the estimate with respect to `log_ratio`.
double kl_slope(KlEstimator estimator, double log_ratio);

/// A coefficient that is adapted to keep the divergence near a target (Ziegler et al. 2019, arXiv 1909.08593, section
/// 2.2).
struct AdaptiveKl {
  double coefficient = 0.1;
  double target = 6;        ///< mean divergence of a response
  double horizon = 10'000;  ///< samples over which the coefficient may change by a fifth
};

/// Multiplies the coefficient by max(0, 1 + clip(divergence / target - 1, -0.2, 0.2) * samples / horizon). `divergence`
/// is the sum over the tokens of a response, averaged over the `samples` responses of an iteration.
void update(AdaptiveKl& control, double divergence, std::int64_t samples);

/// A loss and its derivative with respect to the model's output.
struct Loss {
  double value = 0;
  double slope = 0;
};

/// Limits of the probability ratio between the trained policy and the policy before training.
struct PolicyClip {
  double below = 0.2;  ///< ratios are clipped to [1 - below, 1 + above]
  double above = 0.2;
};

/// The PPO loss of a token, with values for metrics.
struct PolicyLoss {
  Loss loss;  ///< slope with respect to the new log-probability
  double ratio = 1;
  bool clipped = false;  ///< true if the clipped term is the loss, so that the gradient is zero
};

/// Computes max(-A ratio, -A clip(ratio)) with ratio = exp(new - old) (Schulman et al. 2017, arXiv 1707.06347, equation
/// 7). `importance` is a constant factor, see truncated_importance.
PolicyLoss policy_loss(double new_log_probability, double old_log_probability, double advantage, const PolicyClip& clip,
                       double importance = 1);

/// Computes min(exp(old - sampled), cap): the importance weight of a token that another program sampled, with different
/// rounding or older weights ("truncated importance sampling"). Returns 1 without a cap.
double truncated_importance(double old_log_probability, double sampled_log_probability, std::optional<double> cap);

/// Computes half the squared distance of a value from `target`, the return. With `clip`, also computes
/// this loss for the value clipped to within `clip` of the old value, and returns the larger loss, as in PPO's
/// reference code.
Loss value_loss(double value, double old_value, double target, std::optional<double> clip);

/// Computes the KL penalty: coefficient times the estimate. The slope is with respect to the policy's log-probability.
Loss kl_loss(KlEstimator estimator, double log_probability, double reference_log_probability, double coefficient);

/// Computes -log sigmoid(margin) (Bradley and Terry). The margin is the chosen response's value minus the rejected
/// one's. A response's value is its score (reward model) or beta times its log-ratio to the reference (DPO, arXiv
/// 2305.18290, equation 7).
Loss preference_loss(double margin);

/// How tokens are weighted in the loss of a mini-batch.
enum class TokenWeighting {
  tokens,     ///< all tokens of the mini-batch equally (DAPO, arXiv 2503.14476, section 3.3)
  sequences,  ///< all responses equally, regardless of their lengths (GRPO)
  constant,   ///< each token as if its response had the maximum length (Dr. GRPO, arXiv 2503.20783)
};
constexpr auto names_of(TokenWeighting) {
  return std::array{base::EnumName{"tokens", TokenWeighting::tokens},
                    base::EnumName{"sequences", TokenWeighting::sequences},
                    base::EnumName{"constant", TokenWeighting::constant}};
}

/// Returns, for each response, the weight of each of its tokens. Weights depend only on the mini-batch, not on
/// micro-batches, ranks or order. The weights of all tokens sum to 1; with `constant`, only if all responses have
/// `max_length` tokens. A response without tokens does not count. REQUIRES: lengths are in [0, max_length], and
/// max_length > 0.
std::vector<double> token_weights(TokenWeighting weighting, std::span<const std::int64_t> lengths,
                                  std::int64_t max_length);

}  // namespace dovetail::learn
