#include "learn/advantages.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "base/assert.h"

namespace dovetail::learn {

Advantages estimate_advantages(std::span<const double> rewards, std::span<const double> values, double bootstrap,
                               double gamma, double lambda) {
  DOVETAIL_ASSERT(rewards.size() == values.size());
  Advantages all{std::vector<double>(rewards.size()), std::vector<double>(rewards.size())};
  double next_value = bootstrap;
  double next_advantage = 0;
  for (std::size_t token = rewards.size(); token-- > 0;) {
    const double td_error = rewards[token] + gamma * next_value - values[token];
    next_advantage = td_error + gamma * lambda * next_advantage;
    next_value = values[token];
    all.advantages[token] = next_advantage;
    all.returns[token] = next_advantage + values[token];
  }
  return all;
}

bool are_equal(std::span<const double> rewards) {
  return std::all_of(rewards.begin(), rewards.end(), [&](double reward) { return reward == rewards.front(); });
}

std::vector<double> group_advantages(std::span<const double> rewards, bool scaled) {
  std::vector<double> advantages(rewards.size(), 0.0);
  if (are_equal(rewards)) return advantages;
  const auto count = static_cast<double>(rewards.size());
  const double mean = std::accumulate(rewards.begin(), rewards.end(), 0.0) / count;
  double squares = 0;
  for (const double reward : rewards) squares += (reward - mean) * (reward - mean);
  constexpr double epsilon = 1e-6;
  const double scale = scaled ? std::sqrt(squares / (count - 1)) + epsilon : 1;
  for (std::size_t index = 0; index < rewards.size(); ++index) advantages[index] = (rewards[index] - mean) / scale;
  return advantages;
}

Moments moments_of(std::span<const std::vector<double>> values) {
  double sum = 0;
  double count = 0;
  for (const std::vector<double>& part : values) {
    for (const double value : part) sum += value;
    count += static_cast<double>(part.size());
  }
  if (count == 0) return {};
  Moments moments{sum / count, 0};
  double squares = 0;
  for (const std::vector<double>& part : values)
    for (const double value : part) squares += (value - moments.mean) * (value - moments.mean);
  moments.deviation = std::sqrt(squares / count);
  return moments;
}

void whiten(std::span<std::vector<double>> values) {
  constexpr double epsilon = 1e-5;
  const Moments moments = moments_of(values);
  for (std::vector<double>& part : values)
    for (double& value : part) value = (value - moments.mean) / (moments.deviation + epsilon);
}

std::vector<double> token_rewards(double reward, std::span<const double> log_ratios, double coefficient,
                                  KlEstimator estimator) {
  DOVETAIL_ASSERT(!log_ratios.empty());
  std::vector<double> rewards;
  rewards.reserve(log_ratios.size());
  for (const double log_ratio : log_ratios) rewards.push_back(-coefficient * kl_of(estimator, log_ratio));
  rewards.back() += reward;
  return rewards;
}

double RunningMoments::mean() const { return weight > 0 ? mean_sum / weight : 0; }

double RunningMoments::deviation() const {
  if (weight <= 0) return 1;
  constexpr double min_variance = 1e-4;
  return std::sqrt(std::max(min_variance, square_sum / weight - mean() * mean()));
}

void update(RunningMoments& moments, std::span<const double> batch) {
  if (batch.empty()) return;
  double sum = 0;
  double squares = 0;
  for (const double value : batch) {
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(batch.size());
  const double rest = 1 - moments.decay;
  moments.mean_sum = moments.decay * moments.mean_sum + rest * sum / count;
  moments.square_sum = moments.decay * moments.square_sum + rest * squares / count;
  moments.weight = moments.decay * moments.weight + rest;
}

}  // namespace dovetail::learn
