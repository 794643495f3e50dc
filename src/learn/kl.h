// How far a policy is from its reference, estimated from sampled tokens (Schulman, "Approximating KL Divergence", 2020:
// joschu.net/blog/kl-approx.html).
#pragma once

#include <array>
#include <cstdint>

#include "base/enum_names.h"

namespace dovetail::learn {

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

}  // namespace dovetail::learn
