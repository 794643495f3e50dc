// What an iteration of PPO or GRPO has sampled, and what is learned from it: from rewards to advantages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/models.h"
#include "control/run_settings.h"
#include "learn/kl.h"
#include "learn/normalizer.h"

namespace dovetail::control {

/// A sampled response and what is known of it. What is of tokens is of the response's.
struct Sample {
  std::uint64_t epoch = 0;        ///< of the data
  std::uint64_t prompt = 0;       ///< its place in the data
  std::uint64_t copy = 0;         ///< of the prompt's responses
  std::int64_t group = 0;         ///< of an iteration's samples those of one prompt
  TokenSequence sequence;         ///< prompt and response; the response is scored
  bool is_sampled = false;        ///< the response is there
  bool ended = false;             ///< it was not cut off
  std::string text;               ///< the response, up to what stopped it
  double reward = 0;              ///< as it was judged
  std::vector<double> sampled;    ///< the engine's log-probabilities
  std::vector<double> policy;     ///< the trainer's before training; empty: the engine's stand for them
  std::vector<double> reference;  ///< the reference's; empty: there is none
  std::vector<double> values;     ///< as the critic gave them, one more than tokens; empty: there is none
  double shaped_reward = 0;       ///< what is learned from
  std::vector<double> advantages;
  std::vector<double> targets;  ///< of the critic's numbers

  const std::vector<double>& old_policy() const { return policy.empty() ? sampled : policy; }
  std::int64_t tokens() const { return static_cast<std::int64_t>(sequence.scored()); }
};

/// What is followed over the iterations of a run.
struct Scales {
  learn::RunningMoments rewards;
  learn::RunningMoments returns;
  double kl_coefficient = 0;
};

/// Settles what is learned from each sample: shaped rewards, the penalty of the divergence where it is in the reward,
/// returns and advantages, targets of the critic. Follows `scales`: rewards, then returns, each before it is used;
/// values are read with the scale of before. The order is: reward_norm, reward_clip, then no_eos and length_penalty.
/// `max_tokens`: the cap of a response.
///
/// Where samples have values: generalized advantage estimation; a response that was cut off has the value at its last
/// token in place of its reward, as nobody has judged what it would have become (ReaL does the same: with both, a
/// critic's targets grow without end). They are whitened over all tokens of the batch or of a group. Else: relative to
/// the rewards of their group, one number a response; scaled by the batch they are whitened over its responses.
void settle(std::span<Sample> samples, const LossSettings& loss, std::int64_t max_tokens, Scales& scales);

/// Of the policy before training from the reference: means over tokens and over responses (sums over their tokens).
/// Nothing without a reference.
struct Divergence {
  double k1_token = 0;
  double k3_token = 0;
  double k1_sequence = 0;
  double k3_sequence = 0;
};
std::optional<Divergence> divergence_of(std::span<const Sample> samples);

/// Moves the coefficient where `kl` has a target.
void follow_divergence(std::span<const Sample> samples, const KlSettings& kl, Scales& scales);

}  // namespace dovetail::control
