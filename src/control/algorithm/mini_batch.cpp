#include "control/algorithm/mini_batch.h"

#include <algorithm>
#include <cmath>

#include "learn/losses.h"

namespace dovetail::control {
namespace {

std::vector<double> weights_of(std::span<const Sample> samples, std::span<const std::size_t> places,
                               learn::TokenWeighting weigh, std::int64_t max_tokens) {
  std::vector<std::int64_t> lengths;
  for (const std::size_t place : places) lengths.push_back(samples[place].tokens());
  return learn::token_weights(weigh, lengths, max_tokens);
}

std::vector<std::size_t> copy_of(std::span<const std::size_t> places) { return {places.begin(), places.end()}; }

std::vector<TokenSequence> sequences_of(std::span<const Sample> samples, std::span<const std::size_t> places) {
  std::vector<TokenSequence> sequences;
  for (const std::size_t place : places) sequences.push_back(samples[place].sequence);
  return sequences;
}

/// Policy loss of one sequence.
struct PolicyTokens {
  const Sample& sample;
  const LossSettings& loss;
  double kl_coefficient;
  double weight;  ///< per token

  ScoreSlopes operator()(const Scores& scores, TrainingSums& sums) const {
    ScoreSlopes slopes;
    const std::vector<double>& old = sample.old_policy();
    const bool bonus = loss.entropy > 0;
    for (std::size_t t = 0; t < old.size(); ++t) {
      const double importance = learn::truncated_importance(old[t], sample.sampled[t], loss.importance_cap);
      const learn::PolicyLoss policy =
          learn::policy_loss(scores.values[t], old[t], sample.advantages[t], {loss.clip, loss.clip_high}, importance);
      learn::Loss all = policy.loss;
      if (loss.kl.in == KlPlace::loss && !sample.reference.empty()) {
        const learn::Loss kl = learn::kl_loss(loss.kl.estimator, scores.values[t], sample.reference[t], kl_coefficient);
        all.value += kl.value;
        all.slope += kl.slope;
      }
      all.value -= loss.entropy * scores.entropies[t];
      slopes.values.push_back(weight * all.slope);
      if (bonus) slopes.entropies.push_back(-weight * loss.entropy);
      const double log_ratio = scores.values[t] - old[t];
      sums.weight += 1;
      sums.loss += weight * all.value;
      sums.entropy += scores.entropies[t];
      sums.clipped += policy.clipped ? 1 : 0;
      sums.ratio += policy.ratio;
      sums.max_ratio = std::max(sums.max_ratio, policy.ratio);
      sums.divergence += learn::kl_of(learn::KlEstimator::k3, -log_ratio);
      const double gap = std::abs(scores.values[t] - sample.sampled[t]);
      sums.gap += gap;
      sums.max_gap = std::max(sums.max_gap, gap);
    }
    return slopes;
  }
};

/// Value loss of one sequence.
struct ValueTokens {
  const Sample& sample;
  const LossSettings& loss;
  double weight;

  ScoreSlopes operator()(const Scores& scores, TrainingSums& sums) const {
    ScoreSlopes slopes;
    for (std::size_t t = 0; t < sample.targets.size(); ++t) {
      const double target = sample.targets[t];
      const learn::Loss token = learn::value_loss(scores.values[t], sample.values[t], target, loss.value_clip);
      slopes.values.push_back(weight * token.slope);
      sums.weight += 1;
      sums.loss += weight * token.value;
      sums.squared_error += (scores.values[t] - target) * (scores.values[t] - target);
      sums.target += target;
      sums.squared_target += target * target;
    }
    slopes.values.push_back(0);  // value after the last token
    return slopes;
  }
};

}  // namespace

MiniBatch policy_mini_batch(std::span<const Sample> samples, std::span<const std::size_t> places,
                            const LossSettings& loss, double kl_coefficient, std::int64_t max_tokens) {
  const std::vector<double> weights = weights_of(samples, places, loss.weigh, max_tokens);
  return {sequences_of(samples, places), 1,
          [=, &loss, places = copy_of(places)](std::span<const std::size_t> ids, std::span<const Scores> scores,
                                               TrainingSums& sums) {
            std::vector<ScoreSlopes> slopes;
            for (std::size_t i = 0; i < ids.size(); ++i)
              slopes.push_back(
                  PolicyTokens{samples[places[ids[i]]], loss, kl_coefficient, weights[ids[i]]}(scores[i], sums));
            return slopes;
          }};
}

MiniBatch value_mini_batch(std::span<const Sample> samples, std::span<const std::size_t> places,
                           const LossSettings& loss, std::int64_t max_tokens) {
  const std::vector<double> weights = weights_of(samples, places, loss.weigh, max_tokens);
  return {sequences_of(samples, places), 1,
          [=, &loss, places = copy_of(places)](std::span<const std::size_t> ids, std::span<const Scores> scores,
                                               TrainingSums& sums) {
            std::vector<ScoreSlopes> slopes;
            for (std::size_t i = 0; i < ids.size(); ++i)
              slopes.push_back(ValueTokens{samples[places[ids[i]]], loss, weights[ids[i]]}(scores[i], sums));
            return slopes;
          }};
}

MiniBatch imitation_mini_batch(const std::vector<ExampleTokens>& examples, std::span<const std::size_t> places,
                               learn::TokenWeighting weigh, std::int64_t max_tokens) {
  std::vector<TokenSequence> sequences;
  std::vector<std::int64_t> lengths;
  for (const std::size_t place : places) {
    sequences.push_back(examples[place].sequence);
    lengths.push_back(std::count(examples[place].learned.begin(), examples[place].learned.end(), true));
  }
  const std::vector<double> weights = learn::token_weights(weigh, lengths, max_tokens);
  return {std::move(sequences), 1,
          [=, &examples, places = copy_of(places)](std::span<const std::size_t> ids, std::span<const Scores> scores,
                                                   TrainingSums& sums) {
            std::vector<ScoreSlopes> slopes(ids.size());
            for (std::size_t i = 0; i < ids.size(); ++i) {
              const std::vector<bool>& learned = examples[places[ids[i]]].learned;
              for (std::size_t t = 0; t < learned.size(); ++t) {
                slopes[i].values.push_back(learned[t] ? -weights[ids[i]] : 0);
                if (!learned[t]) continue;
                sums.weight += 1;
                sums.loss -= weights[ids[i]] * scores[i].values[t];
                sums.log_probability += scores[i].values[t];
                sums.entropy += scores[i].entropies[t];
              }
            }
            return slopes;
          }};
}

MiniBatch preference_mini_batch(const std::vector<PairTokens>& pairs, std::span<const std::size_t> places) {
  std::vector<TokenSequence> sequences;
  for (const std::size_t place : places) {
    sequences.push_back(pairs[place].chosen);
    sequences.push_back(pairs[place].rejected);
  }
  const double weight = 1 / static_cast<double>(places.size());
  return {std::move(sequences), 2,
          [=, places = copy_of(places)](std::span<const std::size_t> ids, std::span<const Scores> scores,
                                        TrainingSums& sums) {
            std::vector<ScoreSlopes> slopes(ids.size());
            for (std::size_t i = 0; i + 1 < ids.size(); i += 2) {
              const double margin = scores[i].values.back() - scores[i + 1].values.back();
              const learn::Loss loss = learn::preference_loss(margin);
              for (const std::size_t side : {i, i + 1}) slopes[side].values.assign(scores[side].values.size(), 0);
              slopes[i].values.back() = weight * loss.slope;
              slopes[i + 1].values.back() = -weight * loss.slope;
              sums.weight += 1;
              sums.loss += weight * loss.value;
              sums.accurate += margin > 0 ? 1 : 0;
              sums.margin += margin;
            }
            return slopes;
          }};
}

}  // namespace dovetail::control
