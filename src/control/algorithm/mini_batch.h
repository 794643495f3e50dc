// The mini-batches of each algorithm: their sequences and their loss. They point into samples, examples, pairs and
// settings.
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

/// Of PPO and GRPO: the clipped loss of the policy, the divergence from the reference where it is in the loss, the
/// entropy bonus; each token by its weight in the mini-batch (learn::token_weights).
MiniBatch policy_mini_batch(std::span<const Sample> samples, std::span<const std::size_t> places,
                            const LossSettings& loss, double kl_coefficient, std::int64_t max_tokens);
/// The critic's of the same samples.
MiniBatch value_mini_batch(std::span<const Sample> samples, std::span<const std::size_t> places,
                           const LossSettings& loss, std::int64_t max_tokens);
/// Cross entropy of the learned tokens. `max_tokens`: of a text.
MiniBatch imitation_mini_batch(const std::vector<ExampleTokens>& examples, std::span<const std::size_t> places,
                               learn::Weighing weigh, std::int64_t max_tokens);
/// Bradley and Terry's loss of pairs, of the scores at the last tokens of both; chosen and rejected by turns.
MiniBatch preference_mini_batch(const std::vector<PairTokens>& pairs, std::span<const std::size_t> places);

}  // namespace dovetail::control
