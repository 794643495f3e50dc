#include "control/algorithm/mini_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace dovetail::control {
namespace {

/// Returns a uniform number between the two.
double any_between(double low, double high) {
  return low + (high - low) * *rc::gen::inRange(0, 1'000'001) / 1'000'000.0;
}

std::vector<double> numbers(std::size_t count, double low, double high) {
  std::vector<double> all(count);
  for (double& number : all) number = any_between(low, high);
  return all;
}

constexpr std::int64_t cap = 6;

std::vector<Sample> any_samples() {
  std::vector<Sample> samples(*rc::gen::inRange<std::size_t>(1, 5));
  for (Sample& sample : samples) {
    const auto tokens = *rc::gen::inRange<std::size_t>(1, static_cast<std::size_t>(cap) + 1);
    sample.sequence = {std::vector<TokenId>(tokens + 2, 1), 2};
    sample.sampled = numbers(tokens, -3, -0.1);
    if (*rc::gen::arbitrary<bool>()) sample.policy = numbers(tokens, -3, -0.1);
    sample.reference = numbers(tokens, -3, -0.1);
    sample.values = numbers(tokens + 1, -1, 1);
    sample.advantages = numbers(tokens, -2, 2);
    sample.targets = numbers(tokens, -1, 1);
  }
  return samples;
}

LossSettings any_loss() {
  LossSettings loss;
  loss.clip = any_between(0, 0.5);
  loss.clip_high = any_between(0, 1);
  if (*rc::gen::arbitrary<bool>()) loss.value_clip.reset();
  loss.kl.in = *rc::gen::element(KlPlace::reward, KlPlace::loss);
  loss.kl.estimator = *rc::gen::element(learn::KlEstimator::k1, learn::KlEstimator::k2, learn::KlEstimator::k3);
  loss.weigh = *rc::gen::element(learn::TokenWeighting::tokens, learn::TokenWeighting::sequences,
                                 learn::TokenWeighting::constant);
  loss.entropy = *rc::gen::element(0.0, 0.3);
  if (*rc::gen::arbitrary<bool>()) loss.importance_cap = any_between(0.2, 3);
  return loss;
}

/// Weight of a token, computed independently.
double weight_of(learn::TokenWeighting weighing, const std::vector<Sample>& samples,
                 const std::vector<std::size_t>& places, std::size_t place) {
  double tokens = 0;
  for (const std::size_t each : places) tokens += static_cast<double>(samples[each].sampled.size());
  const auto count = static_cast<double>(places.size());
  if (weighing == learn::TokenWeighting::tokens) return 1 / tokens;
  if (weighing == learn::TokenWeighting::sequences)
    return 1 / count / static_cast<double>(samples[place].sampled.size());
  return 1 / count / static_cast<double>(cap);
}

/// Loss of a policy's mini-batch by its definition, from the scores of all its sequences.
double policy_total(const std::vector<Sample>& samples, const std::vector<std::size_t>& places,
                    const LossSettings& loss, double coefficient, const std::vector<Scores>& scores) {
  double total = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Sample& sample = samples[places[i]];
    const std::vector<double>& old = sample.policy.empty() ? sample.sampled : sample.policy;
    for (std::size_t t = 0; t < old.size(); ++t) {
      const double now = scores[i].values[t];
      const double ratio = std::exp(now - old[t]);
      const double clipped = std::min(std::max(ratio, 1 - loss.clip), 1 + loss.clip_high);
      double token = -std::min(sample.advantages[t] * ratio, sample.advantages[t] * clipped);
      if (loss.importance_cap) token *= std::min(std::exp(old[t] - sample.sampled[t]), *loss.importance_cap);
      if (loss.kl.in == KlPlace::loss) {
        const double away = now - sample.reference[t];
        if (loss.kl.estimator == learn::KlEstimator::k1) token += coefficient * away;
        if (loss.kl.estimator == learn::KlEstimator::k2) token += coefficient * away * away / 2;
        if (loss.kl.estimator == learn::KlEstimator::k3) token += coefficient * (std::exp(-away) - 1 + away);
      }
      token -= loss.entropy * scores[i].entropies[t];
      total += weight_of(loss.weigh, samples, places, places[i]) * token;
    }
  }
  return total;
}

double value_total(const std::vector<Sample>& samples, const std::vector<std::size_t>& places, const LossSettings& loss,
                   const std::vector<Scores>& scores) {
  double total = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Sample& sample = samples[places[i]];
    for (std::size_t t = 0; t < sample.targets.size(); ++t) {
      const auto half_square = [&](double value) { return std::pow(value - sample.targets[t], 2) / 2; };
      const double now = scores[i].values[t];
      double token = half_square(now);
      if (loss.value_clip) {
        const double moved =
            std::min(std::max(now, sample.values[t] - *loss.value_clip), sample.values[t] + *loss.value_clip);
        token = std::max(token, half_square(moved));
      }
      total += weight_of(loss.weigh, samples, places, places[i]) * token;
    }
  }
  return total;
}

using Total = std::function<double(const std::vector<Scores>&)>;

/// Derivative of `total` with respect to `number`, one of `scores`; nullopt near a kink.
std::optional<double> slope_of(const Total& total, const std::vector<Scores>& scores, double& number) {
  constexpr double reach = 1e-6;
  const double before = number;
  const double at = total(scores);
  number = before + reach;
  const double right = (total(scores) - at) / reach;
  number = before - reach;
  const double left = (at - total(scores)) / reach;
  number = before;
  if (std::abs(right - left) > 1e-4 * std::max(1.0, std::abs(right))) return std::nullopt;
  return (left + right) / 2;
}

void expect_slopes(const MiniBatch& batch, const Total& total, std::vector<Scores> scores) {
  // In micro-batches of one, in reverse order: neither matters.
  TrainingSums sums;
  std::vector<ScoreSlopes> slopes(scores.size());
  for (std::size_t id = scores.size(); id-- > 0;)
    slopes[id] = batch.loss(std::span(&id, 1), std::span(&scores[id], 1), sums).at(0);
  RC_ASSERT(std::abs(sums.loss - total(scores)) < 1e-12 * std::max(1.0, std::abs(sums.loss)));
  for (std::size_t id = 0; id < scores.size(); ++id) {
    RC_ASSERT(slopes[id].values.size() == scores[id].values.size());
    for (std::size_t t = 0; t < scores[id].values.size(); ++t)
      if (const auto slope = slope_of(total, scores, scores[id].values[t]))
        RC_ASSERT(std::abs(*slope - slopes[id].values[t]) < 1e-4 * std::max(1.0, std::abs(*slope)));
    for (std::size_t t = 0; t < scores[id].entropies.size(); ++t) {
      const double slope = slope_of(total, scores, scores[id].entropies[t]).value();
      RC_ASSERT(std::abs(slope - (slopes[id].entropies.empty() ? 0 : slopes[id].entropies[t])) < 1e-6);
    }
  }
}

/// Returns some of the samples, in any order.
std::vector<std::size_t> any_places(std::size_t count) {
  std::vector<std::size_t> places(count);
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::rotate(places.begin(), places.begin() + *rc::gen::inRange<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(count)),
              places.end());
  places.resize(*rc::gen::inRange<std::size_t>(1, count + 1));
  return places;
}

RC_GTEST_PROP(MiniBatch, PolicyGradientsMatchTheLoss, ()) {
  const std::vector<Sample> samples = any_samples();
  const LossSettings loss = any_loss();
  const std::vector<std::size_t> places = any_places(samples.size());
  const double coefficient = any_between(0, 1);
  std::vector<Scores> scores;
  for (const std::size_t place : places) {
    const std::size_t tokens = samples[place].sampled.size();
    scores.push_back({numbers(tokens, -3, -0.1), numbers(tokens, 0, 2)});
  }
  const MiniBatch batch = policy_mini_batch(samples, places, loss, coefficient, cap);
  RC_ASSERT(batch.sequences.size() == places.size());
  expect_slopes(
      batch, [&](const std::vector<Scores>& at) { return policy_total(samples, places, loss, coefficient, at); },
      scores);
}

RC_GTEST_PROP(MiniBatch, CriticGradientsMatchTheLoss, ()) {
  const std::vector<Sample> samples = any_samples();
  const LossSettings loss = any_loss();
  const std::vector<std::size_t> places = any_places(samples.size());
  std::vector<Scores> scores;
  for (const std::size_t place : places) scores.push_back({numbers(samples[place].values.size(), -1, 1), {}});
  const MiniBatch batch = value_mini_batch(samples, places, loss, cap);
  expect_slopes(batch, [&](const std::vector<Scores>& at) { return value_total(samples, places, loss, at); }, scores);
}

RC_GTEST_PROP(MiniBatch, TextGradientsMatchTheCrossEntropy, ()) {
  std::vector<ExampleTokens> examples(*rc::gen::inRange<std::size_t>(1, 4));
  std::vector<Scores> scores;
  double learned_count = 0;
  for (ExampleTokens& example : examples) {
    const auto tokens = *rc::gen::inRange<std::size_t>(1, 6);
    example.sequence = {std::vector<TokenId>(tokens + 1, 1), 1};
    example.learned = {true};
    while (example.learned.size() < tokens) example.learned.push_back(*rc::gen::arbitrary<bool>());
    learned_count += static_cast<double>(std::count(example.learned.begin(), example.learned.end(), true));
    scores.push_back({numbers(tokens, -3, -0.1), numbers(tokens, 0, 2)});
  }
  std::vector<std::size_t> places(examples.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  const MiniBatch batch = imitation_mini_batch(examples, places, learn::TokenWeighting::tokens, 8);
  const auto total = [&](const std::vector<Scores>& at) {
    double sum = 0;
    for (std::size_t i = 0; i < at.size(); ++i)
      for (std::size_t t = 0; t < at[i].values.size(); ++t)
        if (examples[i].learned[t]) sum -= at[i].values[t] / learned_count;
    return sum;
  };
  expect_slopes(batch, total, scores);
}

RC_GTEST_PROP(MiniBatch, PairGradientsMatchBradleyTerry, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 4);
  const std::vector<PairTokens> pairs(count, {{{0, 1}, 1}, {{0, 1, 2}, 1}});
  std::vector<Scores> scores;
  for (std::size_t i = 0; i < count; ++i) {
    scores.push_back({numbers(2, -2, 2), {}});
    scores.push_back({numbers(3, -2, 2), {}});
  }
  std::vector<std::size_t> places(count);
  std::iota(places.begin(), places.end(), std::size_t{0});
  TrainingSums sums;
  const MiniBatch batch = preference_mini_batch(pairs, places);
  RC_ASSERT(batch.kept_together == 2U);
  RC_ASSERT(batch.sequences.size() == 2 * count);
  std::vector<std::size_t> ids(2 * count);
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  const std::vector<ScoreSlopes> slopes = batch.loss(ids, scores, sums);
  const Total total = [&](const std::vector<Scores>& at) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i)
      sum += std::log1p(std::exp(at[2 * i + 1].values.back() - at[2 * i].values.back()));
    return sum / static_cast<double>(count);
  };
  RC_ASSERT(std::abs(sums.loss - total(scores)) < 1e-12);
  for (std::size_t id = 0; id < ids.size(); ++id)
    for (std::size_t t = 0; t < scores[id].values.size(); ++t)
      RC_ASSERT(std::abs(slope_of(total, scores, scores[id].values[t]).value() - slopes[id].values[t]) < 1e-6);
}

TEST(MiniBatch, ReportsPolicySums) {
  std::vector<Sample> samples(1);
  samples[0].sequence = {{0, 1, 2}, 1};
  samples[0].sampled = {-1, -1.5};
  samples[0].policy = {-1, -2};
  samples[0].advantages = {1, 1};
  TrainingSums sums;
  const std::vector<std::size_t> places{0};
  const LossSettings loss;
  const MiniBatch batch = policy_mini_batch(samples, places, loss, 0, cap);
  const std::vector<Scores> scores{{{-1, -1.5}, {0.5, 0.25}}};
  batch.loss(places, scores, sums);
  EXPECT_EQ(sums.weight, 2);
  EXPECT_DOUBLE_EQ(sums.ratio, 1 + std::exp(0.5));
  EXPECT_DOUBLE_EQ(sums.max_ratio, std::exp(0.5));
  EXPECT_EQ(sums.clipped, 1);
  EXPECT_DOUBLE_EQ(sums.entropy, 0.75);
  EXPECT_DOUBLE_EQ(sums.divergence, std::exp(0.5) - 1 - 0.5);
  EXPECT_EQ(sums.gap, 0);
  batch.loss(places, std::vector<Scores>{{{-1.25, -1.5}, {0, 0}}}, sums);
  EXPECT_DOUBLE_EQ(sums.max_gap, 0.25);
}

}  // namespace
}  // namespace dovetail::control
