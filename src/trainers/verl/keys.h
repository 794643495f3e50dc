// The settings of verl that say how its roles run, by their present names.
#pragma once

#include <string_view>

namespace dovetail::trainers {

/// The settings of one engine.
struct VerlEngineKeys {
  std::string_view fsdp;         ///< "critic.fsdp"
  std::string_view old_ulysses;  ///< where Ulysses was before, which wins where it says more than 1
  std::string_view megatron;     ///< "critic.megatron"
  std::string_view recomputes;   ///< whether FSDP computes layers again
  std::string_view unpadded;     ///< whether rows have no padding
};

/// The settings that cut micro-batches.
struct VerlBatchKeys {
  std::string_view dynamic;  ///< by tokens
  std::string_view tokens;   ///< of a device, at most
  std::string_view per_gpu;  ///< sequences
  std::string_view all;      ///< sequences of all ranks together, as older versions have it
};

inline constexpr VerlEngineKeys verl_actor_keys{.fsdp = "actor_rollout_ref.actor.fsdp_config",
                                                .old_ulysses = "actor_rollout_ref.actor.ulysses_sequence_parallel_size",
                                                .megatron = "actor_rollout_ref.actor.megatron",
                                                .recomputes = "actor_rollout_ref.model.enable_gradient_checkpointing",
                                                .unpadded = "actor_rollout_ref.model.use_remove_padding"};
inline constexpr VerlEngineKeys verl_reference_keys{
    .fsdp = "actor_rollout_ref.ref.fsdp_config",
    .old_ulysses = "actor_rollout_ref.ref.ulysses_sequence_parallel_size",
    .megatron = "actor_rollout_ref.ref.megatron",
    .recomputes = "actor_rollout_ref.model.enable_gradient_checkpointing",
    .unpadded = "actor_rollout_ref.model.use_remove_padding"};
inline constexpr VerlEngineKeys verl_critic_keys{.fsdp = "critic.fsdp",
                                                 .old_ulysses = "critic.ulysses_sequence_parallel_size",
                                                 .megatron = "critic.megatron",
                                                 .recomputes = "critic.model.enable_gradient_checkpointing",
                                                 .unpadded = "critic.model.use_remove_padding"};

inline constexpr VerlBatchKeys verl_actor_train_keys{.dynamic = "actor_rollout_ref.actor.use_dynamic_bsz",
                                                     .tokens = "actor_rollout_ref.actor.ppo_max_token_len_per_gpu",
                                                     .per_gpu = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
                                                     .all = "actor_rollout_ref.actor.ppo_micro_batch_size"};
inline constexpr VerlBatchKeys verl_actor_infer_keys{
    .dynamic = "actor_rollout_ref.rollout.log_prob_use_dynamic_bsz",
    .tokens = "actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu",
    .per_gpu = "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
    .all = "actor_rollout_ref.rollout.log_prob_micro_batch_size"};
inline constexpr VerlBatchKeys verl_reference_infer_keys{
    .dynamic = "actor_rollout_ref.ref.log_prob_use_dynamic_bsz",
    .tokens = "actor_rollout_ref.ref.log_prob_max_token_len_per_gpu",
    .per_gpu = "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu",
    .all = "actor_rollout_ref.ref.log_prob_micro_batch_size"};
inline constexpr VerlBatchKeys verl_critic_train_keys{.dynamic = "critic.use_dynamic_bsz",
                                                      .tokens = "critic.ppo_max_token_len_per_gpu",
                                                      .per_gpu = "critic.ppo_micro_batch_size_per_gpu",
                                                      .all = "critic.ppo_micro_batch_size"};
inline constexpr VerlBatchKeys verl_critic_infer_keys{.dynamic = "critic.use_dynamic_bsz",
                                                      .tokens = "critic.forward_max_token_len_per_gpu",
                                                      .per_gpu = "critic.forward_micro_batch_size_per_gpu",
                                                      .all = "critic.forward_micro_batch_size"};

inline constexpr std::string_view reward_keys = "reward.reward_model";

inline constexpr std::string_view verl_rollout_keys = "actor_rollout_ref.rollout";

}  // namespace dovetail::trainers
