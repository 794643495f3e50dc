// What the tokens of a response are rewarded with.
#pragma once

#include <span>
#include <vector>

#include "learn/kl.h"

namespace dovetail::learn {

/// The reward of each token of one response: `reward` at its last, and at each the penalty of straying from the
/// reference, -coefficient times the estimate. `log_ratios`: log policy - log reference of each token, as sampled.
/// REQUIRES: there is a token.
std::vector<double> token_rewards(double reward, std::span<const double> log_ratios, double coefficient,
                                  KlEstimator estimator);

}  // namespace dovetail::learn
