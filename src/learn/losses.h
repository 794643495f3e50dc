// Losses of single tokens and pairs with their derivatives: whoever trains sends the derivative back through the model.
// So no loss needs tensors, and what is tested here is what runs.
#pragma once

#include <optional>

#include "learn/kl.h"

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

}  // namespace dovetail::learn
