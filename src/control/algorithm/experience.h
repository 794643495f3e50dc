// Samples of a PPO or GRPO iteration, and the computation of their advantages from rewards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/models.h"
#include "control/run_settings.h"
#include "learn/advantages.h"
#include "learn/losses.h"

namespace dovetail::control {

/// Sampled response and its data. Unless noted otherwise, vectors have one element per token of the response.
struct Sample {
  std::uint64_t epoch = 0;      ///< pass over the data
  std::uint64_t prompt = 0;     ///< index in the data
  std::uint64_t copy = 0;       ///< index among the responses to the prompt
  std::int64_t group = 0;       ///< number of the prompt within the iteration
  TokenSequence sequence;       ///< prompt and response; the response is scored
  bool is_sampled = false;      ///< true once the response has been generated
  bool ended = false;           ///< false if the response was cut off
  std::string text;             ///< response, up to the stop text
  double reward = 0;            ///< from the reward model or the rule, before shaping
  std::vector<double> sampled;  ///< log-probabilities from the engine
  std::vector<double> policy;   ///< log-probabilities from the trainer before training; if empty, the engine's are used
  std::vector<double> reference;  ///< log-probabilities from the reference; empty without one
  std::vector<double> values;     ///< outputs of the critic: one more than response tokens; empty without a critic
  double shaped_reward = 0;       ///< reward that training uses
  std::vector<double> advantages;
  std::vector<double> targets;  ///< targets of the critic's output; empty without a critic

  const std::vector<double>& old_policy() const { return policy.empty() ? sampled : policy; }
  std::int64_t tokens() const { return static_cast<std::int64_t>(sequence.scored()); }
};

/// Values that a run carries from one iteration to the next: moments of the rewards and returns, and the current KL
/// coefficient.
struct Scales {
  learn::RunningMoments rewards;
  learn::RunningMoments returns;
  double kl_coefficient = 0;
};

/// Computes the shaped reward and the advantages of each sample, and, for samples with values, the critic's targets.
/// Rewards are shaped in the order reward_norm, reward_clip, no_eos, length_penalty. `max_tokens` is the cap of a
/// response.
///
/// With a running norm, the batch first updates the moments in `scales` and is then normalized by the updated moments.
/// The critic's values, however, are converted with the moments of the returns from before the batch.
///
/// Samples with values use generalized advantage estimation. The KL penalty is included if it is part of the reward. A
/// response that was cut off gets the value at its last token instead of its judged reward, because its continuation
/// was not judged; no_eos and length_penalty still apply. ReaL does the same: if the reward were added to the value,
/// the critic's targets would grow without bound. With the scale `batch` or `group`, advantages are whitened over all
/// tokens of the batch or of each group.
///
/// For samples without values, the advantage of every token is the response's shaped reward minus the mean of its
/// group. With the scale `group`, it is also divided by the standard deviation of the group. With `batch`, these
/// advantages are whitened over the responses of the batch.
void compute_advantages(std::span<Sample> samples, const LossSettings& loss, std::int64_t max_tokens, Scales& scales);

/// KL divergence from the reference, estimated by k1 and k3 (learn::KlEstimator) for the policy before training.
/// `_token` is the mean over all tokens. `_sequence` is the sum over a response's tokens, averaged over the responses.
struct Divergence {
  double k1_token = 0;
  double k3_token = 0;
  double k1_sequence = 0;
  double k3_sequence = 0;
};
/// Returns the divergence of the samples; nullopt if there are no samples or no reference.
std::optional<Divergence> divergence_of(std::span<const Sample> samples);

/// Adapts scales.kl_coefficient to the divergence of the samples. Does nothing unless `kl` has a target and there is a
/// reference.
void follow_divergence(std::span<const Sample> samples, const KlSettings& kl, Scales& scales);

}  // namespace dovetail::control
