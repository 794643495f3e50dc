// How much better than expected each token, or each response, was.
#pragma once

#include <span>
#include <vector>

#include "learn/losses.h"

namespace dovetail::learn {

/// Of each token of one response.
struct Advantages {
  std::vector<double> advantages;
  std::vector<double> returns;  ///< advantage + value: what the critic is trained towards
};

/// Generalized advantage estimation (Schulman et al. 2015, arXiv 1506.02438, equation 16): with
/// d_t = r_t + gamma V_{t+1} - V_t, A_t = d_t + gamma lambda A_{t+1}. `bootstrap`: the value behind the last token, 0
/// for a response that has ended, that of what it would go on with for one that was cut off. REQUIRES: as many rewards
/// as values.
Advantages estimate_advantages(std::span<const double> rewards, std::span<const double> values, double bootstrap,
                               double gamma, double lambda);

/// The rewards of the responses to one prompt less their mean (GRPO, arXiv 2402.03300), over their standard deviation
/// (of a sample, n - 1, as TRL and verl take it; plus 1e-6) where `scaled`; 0 for a group whose rewards are equal, also
/// of one response.
std::vector<double> group_advantages(std::span<const double> rewards, bool scaled);

/// Whether no response of the group is better than another: nothing is learned from it.
bool are_equal(std::span<const double> rewards);

/// Mean and standard deviation (of all, n) of numbers that lie in several places, summed in their order.
struct Moments {
  double mean = 0;
  double deviation = 0;
};
Moments moments_of(std::span<const std::vector<double>> values);

/// Gives all numbers the mean 0 and the standard deviation 1: (a - mean) / (deviation + 1e-5). Nothing where there is
/// none.
void whiten(std::span<std::vector<double>> values);

/// The reward of each token of one response: `reward` at its last, and at each the penalty of straying from the
/// reference, -coefficient times the estimate. `log_ratios`: log policy - log reference of each token, as sampled.
/// REQUIRES: there is a token.
std::vector<double> token_rewards(double reward, std::span<const double> log_ratios, double coefficient,
                                  KlEstimator estimator);

/// Exponential means of numbers and of their squares, without the bias of their start (Kingma and Ba 2014, arXiv
/// 1412.6980, section 3). A plain state: checkpoints hold it.
struct RunningMoments {
  double decay = 0.99;
  double mean_sum = 0;
  double square_sum = 0;
  double weight = 0;  ///< of what has been seen, in 1: 0 at first

  /// 0 before anything is seen.
  double mean() const;
  /// At least 1e-2, squared: rewards that do not differ are not blown up; 1 before anything is seen.
  double deviation() const;

  double normalized(double value) const { return (value - mean()) / deviation(); }
  double denormalized(double value) const { return value * deviation() + mean(); }
};

/// One batch more: it counts as one, however many numbers it has. Nothing where it has none.
void update(RunningMoments& moments, std::span<const double> batch);

}  // namespace dovetail::learn
