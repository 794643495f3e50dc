#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "trainers/import/layouts.h"
#include "trainers/import/role_training.h"
#include "trainers/import/roles.h"
#include "trainers/import/settings.h"
#include "trainers/nemo_rl/layouts.h"
#include "trainers/nemo_rl/nemo_rl.h"

namespace dovetail::trainers {
namespace {

/// Settings of `policy` and `value`.
constexpr std::array nemo_rl_role_settings{
    CheckedSetting{"precision", "bfloat16", "modeled as bf16"},
    CheckedSetting{"logprob_chunk_size", "null|0|-1",
                   "logits are computed in chunks; the real run uses less memory for logits in inference"},
    CheckedSetting{"draft.enabled", "false", "training of the draft model is not modeled"},
    CheckedSetting{"router_replay.enabled", "false", "not modeled"},
    CheckedSetting{"quant_cfg", "null", "quantized training is not modeled"},
    CheckedSetting{"sequence_packing.fuse_loss", "false",
                   "one kernel computes the loss of a pack; the real run uses less memory"},
    CheckedSetting{"sequence_packing.algorithm", "modified_first_fit_decreasing|first_fit_decreasing",
                   "modeled as packed by first-fit decreasing"},
};

constexpr std::array nemo_rl_megatron_settings{
    CheckedSetting{"empty_unused_memory_level", "0|1|2", "not modeled"},
    CheckedSetting{"defer_fp32_logits", "false", "logits stay in bf16; the real run uses less memory for logits"},
    CheckedSetting{"use_fused_linear_logprobs", "false",
                   "fused kernels compute log-probabilities; the real run uses less memory"},
    CheckedSetting{"moe_enable_deepep", "false", "DeepEP sends the experts' tokens; the real run is faster"},
    CheckedSetting{"moe_token_dispatcher_type", "alltoall", "modeled as all-to-all"},
    CheckedSetting{"moe_shared_expert_overlap", "false",
                   "shared experts are computed during the exchange of tokens; the real run is faster"},
    CheckedSetting{"moe_permute_fusion", "true|false", "not modeled"},
    CheckedSetting{"fp8_cfg.enabled", "false", "training in fp8; modeled as bf16, but the real run is faster"},
    CheckedSetting{"mtp_num_layers", "0|null",
                   "multi-token prediction layers are not modeled; the real run uses more memory"},
    CheckedSetting{"fine_grained_activation_offloading", "false",
                   "activations are offloaded to the host; the real run uses less memory and transfers more"},
    CheckedSetting{"cuda_graph_impl", "none", "training uses CUDA graphs; the real run is faster"},
    CheckedSetting{"optimizer.use_precision_aware_optimizer", "true",
                   "master weights and moments are modeled as in the precision-aware optimizer"},
    CheckedSetting{"optimizer.optimizer", "adam", "modeled as Adam"},
    CheckedSetting{"optimizer.params_dtype", "float32", "master weights are modeled in fp32"},
    CheckedSetting{"optimizer.overlap_cpu_optimizer_d2h_h2d", "false",
                   "transfers of gradients and weights overlap the step on the host; the real run is faster"},
    CheckedSetting{"distributed_data_parallel_config.use_custom_fsdp", "false",
                   "modeled as ZeRO 1; the real run shards more"},
    CheckedSetting{"distributed_data_parallel_config.overlap_grad_reduce", "true",
                   "gradients are reduced after the backward pass; modeled as overlapping it"},
    CheckedSetting{"distributed_data_parallel_config.overlap_param_gather", "true",
                   "weights are gathered before the forward pass; modeled as overlapping it"},
    CheckedSetting{"gradient_accumulation_fusion", "false|true", "not modeled"},
};

constexpr std::array dtensor_settings{
    CheckedSetting{"_v2", "true", "modeled as version 2 of the DTensor worker"},
    CheckedSetting{
        "cpu_offload", "false",
        "weights and gradients move between host and GPU layer by layer; only the optimizer is modeled on the host"},
    CheckedSetting{"custom_parallel_plan", "null", "modeled as the model's default parallel plan"},
    CheckedSetting{"defer_fsdp_grad_sync", "true|null", "modeled as one gradient reduction per step"},
};

constexpr std::array generation_settings{
    CheckedSetting{"backend", "vllm", "scheduling is modeled as in vLLM"},
    CheckedSetting{"refit_transport", "null",
                   "weights are sent differently; modeled as a broadcast, or as a copy within the node"},
    CheckedSetting{"vllm_cfg.async_engine", "false|null",
                   "a server accepts sequences one by one; modeled as one batch"},
    CheckedSetting{"vllm_cfg.enable_prefix_caching", "null|true", "not modeled"},
    CheckedSetting{"vllm_cfg.num_last_layers_in_bf16", "0", "not modeled"},
    CheckedSetting{"vllm_cfg.num_first_layers_in_bf16", "0", "not modeled"},
    CheckedSetting{"vllm_cfg.is_mx", "false", "not modeled"},
    CheckedSetting{"real_quant", "false|null", "rollout with quantized weights; modeled as bf16"},
    CheckedSetting{"quant_cfg", "null", "rollout with quantized weights; modeled as bf16"},
    CheckedSetting{"sglang_cfg.dp_size", "1", "modeled as independent instances"},
    CheckedSetting{"trtllm_cfg.moe_tensor_parallel_size", "null", "modeled as equal to tensor_parallel_size"},
    CheckedSetting{"mcore_generation_config.buffer_size_gb", "10|20",
                   "size of the KV cache; modeled as a fraction of memory"},
    CheckedSetting{"mcore_generation_config.kv_cache_management_mode", "persist", "modeled as persistent"},
    CheckedSetting{"mcore_generation_config.num_speculative_tokens", "0", "modeled as one token per step"},
};

/// Settings of the loop, below `grpo` or `ppo`.
constexpr std::array loop_settings{
    CheckedSetting{"use_dynamic_sampling", "false", "discarding and regenerating groups is not modeled"},
    CheckedSetting{"batch_multiplier", "1|1.0", "prompts whose responses are not trained on are not modeled"},
    CheckedSetting{"max_rollout_turns", "1|null",
                   "multi-turn rollouts with an environment; modeled as one response without waiting"},
    CheckedSetting{"async_grpo.in_flight_weight_updates", "true|false", "not modeled"},
    CheckedSetting{"async_grpo.recompute_kv_cache_after_weight_updates", "false",
                   "recomputing the KV cache is not modeled"},
    CheckedSetting{"async_ppo.recompute_kv_cache_after_weight_updates", "false",
                   "recomputing the KV cache is not modeled"},
    CheckedSetting{"policy_training_start_step", "0",
                   "the first iterations do not train the actor; modeled as always trained"},
};

/// Members of `vllm_kwargs` that are not reported: layouts.cpp reads them, or they have no effect.
constexpr std::array<std::string_view, 4> read_of_vllm{"max_num_seqs", "max_num_batched_tokens",
                                                       "enable_chunked_prefill", "moe_backend"};

base::Status add_unmodeled_role(const syntax::SettingTree& tree, const std::string& role, ImportedRun& run) {
  DOVETAIL_CHECK(add_unmodeled(tree, role + ".", nemo_rl_role_settings, run));
  DOVETAIL_TRY(const bool megatron, nemo_rl_has_megatron(tree, role));
  if (!megatron) return add_unmodeled(tree, role + ".dtensor_cfg.", dtensor_settings, run);
  const std::string keys = role + ".megatron_cfg";
  DOVETAIL_CHECK(add_unmodeled(tree, keys + ".", nemo_rl_megatron_settings, run));
  add_passed_on(tree, keys + ".model_overrides", {}, run);
  DOVETAIL_TRY(const bool recomputes, is_on(tree, keys + ".activation_checkpointing"));
  for (const char* const name : {".recompute_granularity", ".recompute_modules"}) {
    const syntax::Setting* const setting = find_setting(tree.root, keys + name);
    if (setting == nullptr || setting->kind == syntax::Setting::Kind::null) continue;
    if (!recomputes && setting->place.line > 0)
      run.ignored.push_back({keys + name, "no effect without activation_checkpointing", setting->place});
    else if (recomputes && std::string_view(name) == ".recompute_modules")
      DOVETAIL_CHECK(add_unmodeled_modules(tree, keys + name, run));
  }
  return {};
}

/// Returns the state types with Megatron. Gradients are summed in bf16 by default.
base::Result<RoleTypes> nemo_rl_megatron_types(const syntax::SettingTree& tree, const std::string& role) {
  RoleTypes types;
  const std::string key = role + ".megatron_cfg.distributed_data_parallel_config.grad_reduce_in_fp32";
  DOVETAIL_TRY(const auto in_fp32, optional_flag(tree, key));
  if (!in_fp32.value_or(false)) return types;
  types.types.gradient_type = plan::StateType::fp32;
  types.otherwise.push_back(
      {key, "true: gradients in fp32; modeled in bf16, but the real run uses more memory", place_of(tree, key)});
  return types;
}

/// Returns the shard groups with DTensor. Each group has a full copy of the states.
base::Result<RoleTypes> dtensor_types(const syntax::SettingTree& tree, const std::string& role,
                                      const llm::Layout& layout) {
  RoleTypes types;
  const std::string key = role + ".dtensor_cfg.dp_replicate_size";
  DOVETAIL_TRY(const auto copies, optional_integer(tree, key));
  if (copies.value_or(1) == 1) return types;
  if (*copies < 1 || layout.data % *copies != 0)
    return setting_error(
        tree, key,
        fmt::format("is {}; accepted: a divisor of {}, the number of data-parallel ranks", *copies, layout.data));
  types.types.shard_group = static_cast<int>(std::int64_t{layout.data} * layout.context / *copies);
  types.otherwise.push_back(
      {key,
       fmt::format("{}: several shard groups; modeled as one group of all GPUs, but the real run uses "
                   "more memory and sends less",
                   *copies),
       place_of(tree, key)});
  return types;
}

base::Status add_nemo_rl_types(const syntax::SettingTree& tree, ImportedRun& run) {
  std::vector<RoleTypes> roles;
  std::vector<HostShare> shares;
  for (const auto& [training, role] : {std::pair("actor_train", "policy"), std::pair("critic_train", "value")}) {
    const auto trained = std::find_if(run.tasks.begin(), run.tasks.end(),
                                      [name = training](const ImportedTask& task) { return task.task == name; });
    if (trained == run.tasks.end()) continue;
    DOVETAIL_TRY(const bool megatron, nemo_rl_has_megatron(tree, role));
    DOVETAIL_TRY(roles.emplace_back(),
                 megatron ? nemo_rl_megatron_types(tree, role) : dtensor_types(tree, role, trained->planned.layout));
    if (megatron) {
      DOVETAIL_TRY(shares.emplace_back(), nemo_rl_host_share(tree, role));
    }
  }
  take_types(roles, run);
  take_host_shares(tree, shares, run);
  return {};
}

/// Reports behavior of NeMo-RL that no setting controls.
void add_facts(const syntax::SettingTree& tree, ImportedRun& run) {
  if (run.reference)
    run.not_modelled.push_back({"",
                                "the reference's weights swap places with the policy's in the same memory; modeled as "
                                "moved to the device and back"});
  for (const ImportedTask& task : run.tasks)
    if (task.task == "actor_generate" && task.planned.layout.expert > task.planned.layout.tensor)
      run.not_modelled.push_back({"policy.generation.vllm_cfg.expert_parallel_size",
                                  "instances that share experts wait for each other; modeled as independent instances",
                                  place_of(tree, "policy.generation.vllm_cfg.expert_parallel_size")});
}

/// Applies the engine's own cap on prompt plus response.
base::Status add_unmodeled_engine_cap(const syntax::SettingTree& tree, ImportedRun& run) {
  const std::string key = "policy.generation.vllm_cfg.max_model_len";
  DOVETAIL_TRY(const auto most, optional_integer(tree, key));
  if (most) take_sequence_cap(tree, key, *most, run);
  return {};
}

}  // namespace

base::Status add_nemo_rl_unmodeled(const syntax::SettingTree& tree, const std::string& loop, ImportedRun& run) {
  DOVETAIL_CHECK(add_unmodeled(tree, loop + ".", loop_settings, run));
  DOVETAIL_CHECK(add_unmodeled_role(tree, "policy", run));
  DOVETAIL_CHECK(add_unmodeled(tree, "policy.generation.", generation_settings, run));
  DOVETAIL_CHECK(add_unmodeled_engine_cap(tree, run));
  DOVETAIL_TRY(run.software.engine, engine_kind(tree, "policy.generation.backend"));
  DOVETAIL_CHECK(take_engine_weights(tree, "policy.generation.vllm_cfg.precision", run));
  DOVETAIL_CHECK(take_key_values(tree, "policy.generation.vllm_cfg.kv_cache_dtype", run));
  add_passed_on(tree, "policy.generation.vllm_kwargs", read_of_vllm, run);
  add_passed_on(tree, "policy.generation.trtllm_kwargs", {}, run);
  add_passed_on(tree, "async_rl", {}, run);
  constexpr std::array cluster_keys{CheckedSetting{
      "segment_size", "null", "nodes of one NVLink domain stay together; modeled with the cluster's network"}};
  DOVETAIL_CHECK(add_unmodeled(tree, "cluster.", cluster_keys, run));
  if (loop == "ppo") {
    DOVETAIL_CHECK(add_unmodeled_role(tree, "value", run));
    const std::string key = "value.train_global_batch_size";
    DOVETAIL_TRY(const auto values, optional_integer(tree, key));
    if (values)
      take_critic_batch(*values,
                        {key, fmt::format("{}: modeled with the policy's batch size ({})", *values, run.mini_batch),
                         place_of(tree, key)},
                        run);
  }
  DOVETAIL_CHECK(add_nemo_rl_types(tree, run));
  add_facts(tree, run);
  return {};
}

}  // namespace dovetail::trainers
