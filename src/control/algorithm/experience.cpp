#include "control/algorithm/experience.h"

#include <algorithm>
#include <map>

#include "learn/advantages.h"

namespace dovetail::control {
namespace {

bool has_values(std::span<const Sample> samples) { return !samples.empty() && !samples.front().values.empty(); }

void shape_rewards(std::span<Sample> samples, const LossSettings& loss, std::int64_t max_tokens,
                   learn::RunningMoments& scale) {
  const bool has_bootstrap = has_values(samples);
  if (loss.reward_norm == Norm::running) {
    std::vector<double> rewards;
    for (const Sample& sample : samples) rewards.push_back(sample.reward);
    learn::update(scale, rewards);
  }
  for (Sample& sample : samples) {
    double reward = loss.reward_norm == Norm::running ? scale.normalized(sample.reward) : sample.reward;
    if (loss.reward_clip) reward = std::clamp(reward, -*loss.reward_clip, *loss.reward_clip);
    // The bootstrap value covers the missing rest of the response. Adding the reward would count it twice.
    if (!sample.ended && has_bootstrap) reward = 0;
    if (!sample.ended) reward += loss.no_eos;
    if (loss.length_penalty)
      reward -= *loss.length_penalty * static_cast<double>(sample.tokens()) / static_cast<double>(max_tokens);
    sample.shaped_reward = reward;
  }
}

std::vector<double> log_ratios_of(const Sample& sample) {
  const std::vector<double>& policy = sample.old_policy();
  std::vector<double> ratios(policy.size());
  if (!sample.reference.empty())
    for (std::size_t t = 0; t < policy.size(); ++t) ratios[t] = policy[t] - sample.reference[t];
  return ratios;
}

/// Computes generalized advantages and returns of each sample, with values on the scale of rewards.
void estimate_by_values(std::span<Sample> samples, const LossSettings& loss, Scales& scales) {
  const bool scaled = loss.value_norm == Norm::running;
  const double coefficient = loss.kl.in == KlPlace::reward ? scales.kl_coefficient : 0;
  std::vector<double> returns;
  for (Sample& sample : samples) {
    std::vector<double> values = sample.values;
    if (scaled)
      for (double& value : values) value = scales.returns.denormalized(value);
    const double bootstrap = sample.ended ? 0 : values.back();
    values.pop_back();
    const std::vector<double> rewards =
        learn::token_rewards(sample.shaped_reward, log_ratios_of(sample), coefficient, loss.kl.estimator);
    learn::Advantages estimated = learn::estimate_advantages(rewards, values, bootstrap, loss.gamma, loss.lambda);
    sample.advantages = std::move(estimated.advantages);
    sample.targets = std::move(estimated.returns);
    returns.insert(returns.end(), sample.targets.begin(), sample.targets.end());
  }
  if (!scaled) return;
  learn::update(scales.returns, returns);
  for (Sample& sample : samples)
    for (double& target : sample.targets) target = scales.returns.normalized(target);
}

/// Returns the sample indexes of each group, by group number.
std::vector<std::vector<std::size_t>> groups_of(std::span<const Sample> samples) {
  std::map<std::int64_t, std::vector<std::size_t>> by_number;
  for (std::size_t i = 0; i < samples.size(); ++i) by_number[samples[i].group].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [number, places] : by_number) groups.push_back(std::move(places));
  return groups;
}

/// Computes one advantage per response, which all its tokens share.
void estimate_by_groups(std::span<Sample> samples, AdvantageScale scale) {
  std::vector<std::vector<double>> advantages(1, std::vector<double>(samples.size()));
  for (const std::vector<std::size_t>& group : groups_of(samples)) {
    std::vector<double> rewards;
    for (const std::size_t place : group) rewards.push_back(samples[place].shaped_reward);
    const std::vector<double> of_group = learn::group_advantages(rewards, scale == AdvantageScale::group);
    for (std::size_t i = 0; i < group.size(); ++i) advantages.front()[group[i]] = of_group[i];
  }
  if (scale == AdvantageScale::batch) learn::whiten(advantages);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i].advantages.assign(samples[i].sequence.scored(), advantages.front()[i]);
}

/// Scales the advantages of the samples `places` to mean 0 and deviation 1 over all their tokens.
void whiten_together(std::span<Sample> samples, const std::vector<std::size_t>& places) {
  std::vector<std::vector<double>> advantages;
  for (const std::size_t place : places) advantages.push_back(std::move(samples[place].advantages));
  learn::whiten(advantages);
  for (std::size_t i = 0; i < places.size(); ++i) samples[places[i]].advantages = std::move(advantages[i]);
}

}  // namespace

void compute_advantages(std::span<Sample> samples, const LossSettings& loss, std::int64_t max_tokens, Scales& scales) {
  shape_rewards(samples, loss, max_tokens, scales.rewards);
  if (!has_values(samples)) {
    estimate_by_groups(samples, loss.advantage);
    return;
  }
  estimate_by_values(samples, loss, scales);
  if (loss.advantage == AdvantageScale::batch) {
    std::vector<std::size_t> all(samples.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    whiten_together(samples, all);
  } else if (loss.advantage == AdvantageScale::group) {
    for (const std::vector<std::size_t>& group : groups_of(samples)) whiten_together(samples, group);
  }
}

std::optional<Divergence> divergence_of(std::span<const Sample> samples) {
  if (samples.empty() || samples.front().reference.empty()) return std::nullopt;
  double k1 = 0;
  double k3 = 0;
  std::int64_t tokens = 0;
  for (const Sample& sample : samples) {
    for (const double ratio : log_ratios_of(sample)) {
      k1 += learn::kl_of(learn::KlEstimator::k1, ratio);
      k3 += learn::kl_of(learn::KlEstimator::k3, ratio);
    }
    tokens += sample.tokens();
  }
  const auto all_tokens = static_cast<double>(tokens);
  const auto sequences = static_cast<double>(samples.size());
  return Divergence{k1 / all_tokens, k3 / all_tokens, k1 / sequences, k3 / sequences};
}

void follow_divergence(std::span<const Sample> samples, const KlSettings& kl, Scales& scales) {
  const std::optional<Divergence> divergence = divergence_of(samples);
  if (!kl.target || !divergence) return;
  learn::AdaptiveKl control{scales.kl_coefficient, *kl.target, kl.horizon};
  learn::update(control, divergence->k1_sequence, static_cast<std::int64_t>(samples.size()));
  scales.kl_coefficient = control.coefficient;
}

}  // namespace dovetail::control
