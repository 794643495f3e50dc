// Mini-batches of each algorithm: sequences and loss. They hold references to the samples, examples, pairs and
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

/// Returns the policy's mini-batch of PPO or GRPO: clipped policy loss, divergence from the reference if it is part of
/// the loss, and entropy bonus. Each token has its weight in the mini-batch (learn::token_weights).
MiniBatch policy_mini_batch(std::span<const Sample> samples, std::span<const std::size_t> places,
                            const LossSettings& loss, double kl_coefficient, std::int64_t max_tokens);
/// Returns the critic's mini-batch of the same samples.
MiniBatch value_mini_batch(std::span<const Sample> samples, std::span<const std::size_t> places,
                           const LossSettings& loss, std::int64_t max_tokens);
/// Returns a mini-batch with the cross entropy of the learned tokens. `max_tokens` is the cap of a text.
MiniBatch imitation_mini_batch(const std::vector<ExampleTokens>& examples, std::span<const std::size_t> places,
                               learn::TokenWeighting weigh, std::int64_t max_tokens);
/// Returns a mini-batch with the Bradley-Terry loss of pairs, from the scores at the last tokens. Sequences alternate
/// between chosen and rejected.
MiniBatch preference_mini_batch(const std::vector<PairTokens>& pairs, std::span<const std::size_t> places);

}  // namespace dovetail::control
