// Layouts, micro-batches and host shares of verl's training and inference, and the keys that configure them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/layout.h"
#include "llm/transformer.h"
#include "plan/task_plan.h"
#include "syntax/tree.h"
#include "trainers/import/role_training.h"

namespace dovetail::trainers {

/// Keys of one role's training backend.
struct VerlEngineKeys {
  std::string_view fsdp;         ///< key of the FSDP settings: "critic.fsdp"
  std::string_view old_ulysses;  ///< older key of the Ulysses size; takes precedence if its value is greater than 1
  std::string_view megatron;     ///< key of the Megatron settings: "critic.megatron"
  std::string_view recomputes;   ///< key of the flag that makes FSDP recompute layers
  std::string_view unpadded;     ///< key of the flag that removes padding from sequences
};

/// Keys of one task's micro-batch sizes.
struct VerlBatchKeys {
  std::string_view dynamic;  ///< key of the flag that sizes micro-batches by tokens
  std::string_view tokens;   ///< key of the maximum number of tokens per device
  std::string_view per_gpu;  ///< key of the number of sequences per rank
  std::string_view all;      ///< key of the number of sequences of all ranks together (older versions)
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

/// Returns the FSDP layout on `devices` devices. Returns an Error at the key of a Ulysses size that does not divide the
/// devices, or that exceeds 1 although sequences are padded.
base::Result<llm::Layout> fsdp_layout(const syntax::SettingTree& tree, const VerlEngineKeys& keys, int devices);

/// Returns the Megatron layout of the role whose settings are below `keys`. Parallel degrees are read below `degrees`,
/// which may belong to another role.
base::Result<llm::Layout> megatron_layout(const syntax::SettingTree& tree, std::string_view keys,
                                          std::string_view degrees, int devices, const llm::Transformer& model);

/// Returns the micro-batches of a task in `layout`. A token budget is per device, so devices that share a sequence add
/// up their budgets. Returns an Error if the batch size is missing or is less than one sequence per rank.
base::Result<plan::MicroBatching> verl_micro_batching(const syntax::SettingTree& tree, const VerlBatchKeys& keys,
                                                      const llm::Layout& layout);

/// Returns the share of Megatron's optimizer to keep on the host, and whether stepping on the host is enabled. Both are
/// configured below the key `optimizer`. The share is 0 unless a fraction is given. Returns an Error unless the
/// fraction is from 0 to 1.
base::Result<HostShare> verl_host_share(const syntax::SettingTree& tree, std::string_view optimizer);

}  // namespace dovetail::trainers
