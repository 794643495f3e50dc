// Rewards of tokens, advantages computed from them, and statistics that normalize both.
#pragma once

#include <span>
#include <vector>

#include "learn/losses.h"

namespace dovetail::learn {

/// Returns the reward of each token of one response: `reward` at the last token plus the KL penalty at every token,
/// -coefficient times the estimate. `log_ratios`: log policy - log reference of each token at sampling time. REQUIRES:
/// there is a token.
std::vector<double> token_rewards(double reward, std::span<const double> log_ratios, double coefficient,
                                  KlEstimator estimator);

/// Advantages of the tokens of one response.
struct Advantages {
  std::vector<double> advantages;
  std::vector<double> returns;  ///< advantage + value: the training target of the critic
};

/// Computes generalized advantage estimates (Schulman et al. 2015, arXiv 1506.02438, equation 16): with
/// d_t = r_t + gamma V_{t+1} - V_t, A_t = d_t + gamma lambda A_{t+1}. `bootstrap` is the value after the last token: 0
/// for a complete response, the value of the next state for a truncated one. REQUIRES: equal numbers of rewards and
/// values.
Advantages estimate_advantages(std::span<const double> rewards, std::span<const double> values, double bootstrap,
                               double gamma, double lambda);

/// Returns the rewards of the responses to one prompt minus their mean (GRPO, arXiv 2402.03300). If `scaled`, divides
/// the differences by the rewards' sample standard deviation (n - 1, as in TRL and verl) plus 1e-6. All are 0 if the
/// rewards are equal, which includes a single response.
std::vector<double> group_advantages(std::span<const double> rewards, bool scaled);

/// Whether all rewards of a group are equal, so that nothing can be learned from it.
bool are_equal(std::span<const double> rewards);

/// Mean and population standard deviation (divided by n), accumulated in order. Both are 0 without values.
struct Moments {
  double mean = 0;
  double deviation = 0;
};
Moments moments_of(std::span<const std::vector<double>> values);

/// Normalizes all numbers together to mean 0 and standard deviation 1: (a - mean) / (deviation + 1e-5). Does nothing
/// without numbers.
void whiten(std::span<std::vector<double>> values);

/// Exponential moving averages of numbers and their squares with bias correction (Kingma and Ba 2014, arXiv 1412.6980,
/// section 3). A plain struct, so that checkpoints can store it.
struct RunningMoments {
  double decay = 0.99;
  double mean_sum = 0;
  double square_sum = 0;
  double weight = 0;  ///< total weight of the batches so far, from 0 to 1

  /// Returns the mean; 0 before the first batch.
  double mean() const;
  /// Returns the standard deviation, at least 1e-2 so that equal rewards are not amplified; 1 before the first batch.
  double deviation() const;

  double normalized(double value) const { return (value - mean()) / deviation(); }
  double denormalized(double value) const { return value * deviation() + mean(); }
};

/// Adds a batch. The size of the batch does not affect its weight, but an empty batch changes nothing.
void update(RunningMoments& moments, std::span<const double> batch);

}  // namespace dovetail::learn
