// A mini-batch's loss: which sequences it has, what their slopes are, and what is told of it afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "control/algorithm/experience.h"
#include "control/data/run_inputs.h"
#include "control/models.h"
#include "control/run_settings.h"

namespace dovetail::control {

/// Sums over the micro-batches of one mini-batch, or the mini-batches of an iteration. `weight` tokens of a policy,
/// values of a critic, learned tokens of a text, or pairs.
struct TrainingSums {
  double weight = 0;
  double loss = 0;  ///< of mini-batches; as the loss weighs them
  double entropy = 0;
  double clipped = 0;
  double ratio = 0;
  double max_ratio = 0;
  double divergence = 0;  ///< from the policy before training, k3
  double gap = 0;         ///< |log-probability - the engine's|
  double max_gap = 0;
  double squared_error = 0;
  double target = 0;
  double squared_target = 0;
  double accurate = 0;  ///< pairs in order
  double margin = 0;
  double log_probability = 0;

  void add(const TrainingSums& more);
};

/// The sequences of one mini-batch and its loss. `sums` are those of what has been looked at so far; both point into
/// what it was made of.
struct MiniBatch {
  std::vector<TokenSequence> sequences;
  std::size_t kept_together = 1;
  MicroBatchLoss loss;
};

/// Of PPO and GRPO: the clipped loss of the policy, the divergence from the reference where it is in the loss, the
/// entropy bonus; each token by its weight in the mini-batch (learn::token_weights).
MiniBatch policy_mini_batch(std::span<const Sample> samples, std::span<const std::size_t> places,
                            const LossSettings& loss, double kl_coefficient, std::int64_t max_tokens,
                            TrainingSums& sums);
/// The critic's of the same samples.
MiniBatch value_mini_batch(std::span<const Sample> samples, std::span<const std::size_t> places,
                           const LossSettings& loss, std::int64_t max_tokens, TrainingSums& sums);
/// Cross entropy of the learned tokens. `max_tokens`: of a text.
MiniBatch imitation_mini_batch(const std::vector<ExampleTokens>& examples, std::span<const std::size_t> places,
                               learn::Weighing weigh, std::int64_t max_tokens, TrainingSums& sums);
/// Bradley and Terry's loss of pairs, of the scores at the last tokens of both; chosen and rejected by turns.
MiniBatch preference_mini_batch(const std::vector<PairTokens>& pairs, std::span<const std::size_t> places,
                                TrainingSums& sums);

}  // namespace dovetail::control
