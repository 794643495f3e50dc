// Builds the mini-batches of each algorithm. `places` lists, by index, the samples, examples or pairs that form the
// mini-batch. The samples, examples, pairs and loss settings must outlive the mini-batch.
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

/// Returns the policy's mini-batch of PPO or GRPO. Its loss is the clipped policy loss, plus `kl_coefficient` times
/// the divergence from the reference if LossSettings::kl adds it to the loss, minus the entropy bonus.
/// Tokens are weighted by learn::token_weights. `max_tokens` is the cap of a response.
MiniBatch policy_mini_batch(std::span<const Sample> samples, std::span<const std::size_t> places,
                            const LossSettings& loss, double kl_coefficient, std::int64_t max_tokens);
/// Returns the critic's mini-batch of PPO: clipped value loss, weighted as in policy_mini_batch.
MiniBatch value_mini_batch(std::span<const Sample> samples, std::span<const std::size_t> places,
                           const LossSettings& loss, std::int64_t max_tokens);
/// Returns a mini-batch of supervised fine-tuning: cross entropy of the learned tokens. `max_tokens` is the cap of a
/// text.
MiniBatch imitation_mini_batch(const std::vector<ExampleTokens>& examples, std::span<const std::size_t> places,
                               learn::TokenWeighting weigh, std::int64_t max_tokens);
/// Returns a mini-batch of a reward model: Bradley-Terry loss of pairs. The score of a response is the model's value at
/// its last token. Sequences alternate between chosen and rejected.
MiniBatch preference_mini_batch(const std::vector<PairTokens>& pairs, std::span<const std::size_t> places);

}  // namespace dovetail::control
