#include "trainers/nemo_rl/watched.h"

#include <fmt/format.h>

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
#include "trainers/import/watched.h"
#include "trainers/nemo_rl/layouts.h"

namespace dovetail::trainers {
namespace {

/// Of `policy` and of `value`.
constexpr std::array role_settings{
    Watched{"precision", "bfloat16", "counted as bf16"},
    Watched{"logprob_chunk_size", "null|0|-1", "logits in chunks: the real run needs less for them in passes"},
    Watched{"draft.enabled", "false", "a draft model is trained beside: not counted"},
    Watched{"router_replay.enabled", "false", "not counted"},
    Watched{"quant_cfg", "null", "quantized training: not counted"},
    Watched{"sequence_packing.fuse_loss", "false", "the loss of a pack in one kernel: the real run needs less memory"},
    Watched{"sequence_packing.algorithm", "modified_first_fit_decreasing|first_fit_decreasing",
            "counted as packed by first fit"},
};

constexpr std::array megatron_settings{
    Watched{"empty_unused_memory_level", "0|1|2", "not counted"},
    Watched{"defer_fp32_logits", "false", "logits stay in bf16: the real run needs less for them"},
    Watched{"use_fused_linear_logprobs", "false", "logits in fused kernels: the real run needs less memory"},
    Watched{"moe_enable_deepep", "false", "experts' tokens sent by DeepEP: the real run sends faster"},
    Watched{"moe_token_dispatcher_type", "alltoall", "counted as all-to-all"},
    Watched{"moe_shared_expert_overlap", "false", "shared experts beside the exchange: the real run is faster"},
    Watched{"moe_permute_fusion", "true|false", "not counted"},
    Watched{"fp8_cfg.enabled", "false", "training in fp8: counted as bf16, the real run is faster"},
    Watched{"mtp_num_layers", "0|null", "layers that predict further tokens: not counted, the real run holds more"},
    Watched{"fine_grained_activation_offloading", "false",
            "activations leave for the host: the real run holds less and moves more"},
    Watched{"cuda_graph_impl", "none", "training in CUDA graphs: the real run is faster"},
    Watched{"optimizer.use_precision_aware_optimizer", "true",
            "master weights and moments are counted as of the precision-aware optimizer"},
    Watched{"optimizer.optimizer", "adam", "counted as Adam"},
    Watched{"optimizer.params_dtype", "float32", "master weights are counted in fp32"},
    Watched{"optimizer.overlap_cpu_optimizer_d2h_h2d", "false",
            "the optimizer's transfers beside its step: the real run is faster"},
    Watched{"distributed_data_parallel_config.use_custom_fsdp", "false", "counted as ZeRO 1, the real run cuts more"},
    Watched{"distributed_data_parallel_config.overlap_grad_reduce", "true", "counted as beside the backward"},
    Watched{"distributed_data_parallel_config.overlap_param_gather", "true", "counted as beside the forward"},
    Watched{"gradient_accumulation_fusion", "false|true", "not counted"},
};

constexpr std::array dtensor_settings{
    Watched{"_v2", "true", "counted as the second version of the worker"},
    Watched{"cpu_offload", "false",
            "weights and gradients are fetched from the host layer by layer: only the optimizer is counted there"},
    Watched{"custom_parallel_plan", "null", "counted as the model's own plan"},
    Watched{"defer_fsdp_grad_sync", "true|null", "counted as one exchange of gradients a step"},
};

constexpr std::array generation_settings{
    Watched{"backend", "vllm", "the engine is counted as vLLM schedules"},
    Watched{"refit_transport", "null", "weights sent another way: counted as broadcast or copied on the node"},
    Watched{"vllm_cfg.async_engine", "false|null", "a server that takes sequences one by one: counted as one batch"},
    Watched{"vllm_cfg.enable_prefix_caching", "null|true", "not counted"},
    Watched{"vllm_cfg.num_last_layers_in_bf16", "0", "not counted"},
    Watched{"vllm_cfg.num_first_layers_in_bf16", "0", "not counted"},
    Watched{"vllm_cfg.is_mx", "false", "not counted"},
    Watched{"real_quant", "false|null", "rollout with quantized weights: counted as bf16"},
    Watched{"quant_cfg", "null", "rollout with quantized weights: counted as bf16"},
    Watched{"sglang_cfg.dp_size", "1", "counted as instances by themselves"},
    Watched{"trtllm_cfg.moe_tensor_parallel_size", "null", "counted as of all else"},
    Watched{"mcore_generation_config.buffer_size_gb", "10|20",
            "the size of the cache: counted by a fraction of memory"},
    Watched{"mcore_generation_config.kv_cache_management_mode", "persist", "counted as kept"},
    Watched{"mcore_generation_config.num_speculative_tokens", "0", "counted as one token a step"},
};

/// Of the whole, below `grpo` or `ppo`.
constexpr std::array loop_settings{
    Watched{"use_dynamic_sampling", "false", "groups are thrown away and generated again: not counted"},
    Watched{"batch_multiplier", "1|1.0", "more prompts are generated than trained on: not counted"},
    Watched{"max_rollout_turns", "1|null", "turns with an environment: counted as one response without waiting"},
    Watched{"async_grpo.in_flight_weight_updates", "true|false", "not counted"},
    Watched{"async_grpo.recompute_kv_cache_after_weight_updates", "false", "the cache is computed again: not counted"},
    Watched{"async_ppo.recompute_kv_cache_after_weight_updates", "false", "the cache is computed again: not counted"},
    Watched{"policy_training_start_step", "0", "first steps train the value model alone: not counted"},
};

/// Of the vLLM that is handed on; what is read of it stands in layouts.cpp.
constexpr std::array<std::string_view, 4> read_of_vllm{"max_num_seqs", "max_num_batched_tokens",
                                                       "enable_chunked_prefill", "moe_backend"};

base::Status watch_role(const syntax::SettingTree& tree, const std::string& role, ImportedRun& run) {
  DOVETAIL_CHECK(watch(tree, role + ".", role_settings, run));
  DOVETAIL_TRY(const bool megatron, nemo_rl_has_megatron(tree, role));
  if (!megatron) return watch(tree, role + ".dtensor_cfg.", dtensor_settings, run);
  const std::string keys = role + ".megatron_cfg";
  DOVETAIL_CHECK(watch(tree, keys + ".", megatron_settings, run));
  watch_handed_on(tree, keys + ".model_overrides", {}, run);
  DOVETAIL_TRY(const bool recomputes, is_on(tree, keys + ".activation_checkpointing"));
  for (const char* const name : {".recompute_granularity", ".recompute_modules"}) {
    const syntax::Setting* const setting = find_setting(tree.root, keys + name);
    if (setting == nullptr || setting->kind == syntax::Setting::Kind::null) continue;
    if (!recomputes && setting->place.line > 0)
      run.ignored.push_back({keys + name, "without activation_checkpointing it has no effect", setting->place});
    else if (recomputes && std::string_view(name) == ".recompute_modules")
      DOVETAIL_CHECK(watch_modules(tree, keys + name, run));
  }
  return {};
}

/// Gradients of Megatron are summed in bf16 where nobody says otherwise.
base::Result<RoleTypes> megatron_types(const syntax::SettingTree& tree, const std::string& role) {
  RoleTypes types;
  const std::string key = role + ".megatron_cfg.distributed_data_parallel_config.grad_reduce_in_fp32";
  DOVETAIL_TRY(const auto in_fp32, optional_flag(tree, key));
  if (!in_fp32.value_or(false)) return types;
  types.types.gradient_type = plan::StateType::fp32;
  types.otherwise.push_back(
      {key, "true: gradients in fp32: counted in bf16, the real run holds more", place_of(tree, key)});
  return types;
}

/// FSDP cuts over groups of ranks that are copies of each other.
base::Result<RoleTypes> dtensor_types(const syntax::SettingTree& tree, const std::string& role,
                                      const llm::Layout& layout) {
  RoleTypes types;
  const std::string key = role + ".dtensor_cfg.dp_replicate_size";
  DOVETAIL_TRY(const auto copies, optional_whole(tree, key));
  if (copies.value_or(1) == 1) return types;
  if (*copies < 1 || layout.data % *copies != 0)
    return setting_error(tree, key,
                         fmt::format("is {}; accepted: a divisor of the {} data parallel ranks", *copies, layout.data));
  types.types.shard_group = static_cast<int>(std::int64_t{layout.data} * layout.context / *copies);
  types.otherwise.push_back({key,
                             fmt::format("{}: shard groups: counted as if all GPUs shared one; the real run holds "
                                         "more and sends less",
                                         *copies),
                             place_of(tree, key)});
  return types;
}

base::Status add_types(const syntax::SettingTree& tree, ImportedRun& run) {
  std::vector<RoleTypes> roles;
  std::vector<HostShare> shares;
  for (const auto& [training, role] : {std::pair("actor_train", "policy"), std::pair("critic_train", "value")}) {
    const auto trained = std::find_if(run.tasks.begin(), run.tasks.end(),
                                      [name = training](const ImportedTask& task) { return task.task == name; });
    if (trained == run.tasks.end()) continue;
    DOVETAIL_TRY(const bool megatron, nemo_rl_has_megatron(tree, role));
    DOVETAIL_TRY(roles.emplace_back(),
                 megatron ? megatron_types(tree, role) : dtensor_types(tree, role, trained->planned.layout));
    if (megatron) {
      DOVETAIL_TRY(shares.emplace_back(), nemo_rl_host_share(tree, role));
    }
  }
  take_types(roles, run);
  take_host_shares(tree, shares, run);
  return {};
}

/// Facts of NeMo-RL that are no setting.
void add_facts(const syntax::SettingTree& tree, ImportedRun& run) {
  if (run.reference)
    run.not_modelled.push_back({"",
                                "the reference's weights change places with the policy's in the same memory: counted "
                                "as moved to the device and back"});
  for (const ImportedTask& task : run.tasks)
    if (task.task == "actor_generate" && task.planned.layout.expert > task.planned.layout.tensor)
      run.not_modelled.push_back({"policy.generation.vllm_cfg.expert_parallel_size",
                                  "instances that share experts wait for each other: counted by themselves",
                                  place_of(tree, "policy.generation.vllm_cfg.expert_parallel_size")});
}

/// An engine that stops before the cap of prompt and response.
base::Status watch_engine_cap(const syntax::SettingTree& tree, ImportedRun& run) {
  const std::string key = "policy.generation.vllm_cfg.max_model_len";
  DOVETAIL_TRY(const auto most, optional_whole(tree, key));
  if (most) take_sequence_cap(tree, key, *most, run);
  return {};
}

}  // namespace

base::Status add_nemo_rl_watched(const syntax::SettingTree& tree, const std::string& loop, ImportedRun& run) {
  DOVETAIL_CHECK(watch(tree, loop + ".", loop_settings, run));
  DOVETAIL_CHECK(watch_role(tree, "policy", run));
  DOVETAIL_CHECK(watch(tree, "policy.generation.", generation_settings, run));
  DOVETAIL_CHECK(watch_engine_cap(tree, run));
  DOVETAIL_TRY(run.software.engine, engine_kind(tree, "policy.generation.backend"));
  DOVETAIL_CHECK(take_engine_weights(tree, "policy.generation.vllm_cfg.precision", run));
  DOVETAIL_CHECK(take_key_values(tree, "policy.generation.vllm_cfg.kv_cache_dtype", run));
  watch_handed_on(tree, "policy.generation.vllm_kwargs", read_of_vllm, run);
  watch_handed_on(tree, "policy.generation.trtllm_kwargs", {}, run);
  watch_handed_on(tree, "async_rl", {}, run);
  constexpr std::array cluster_keys{
      Watched{"segment_size", "null", "nodes of one NVLink domain stay together: counted by the cluster's network"}};
  DOVETAIL_CHECK(watch(tree, "cluster.", cluster_keys, run));
  if (loop == "ppo") {
    DOVETAIL_CHECK(watch_role(tree, "value", run));
    const std::string key = "value.train_global_batch_size";
    DOVETAIL_TRY(const auto values, optional_whole(tree, key));
    if (values)
      take_critic_batch(
          *values, {key, fmt::format("{}: counted as of the policy, {}", *values, run.mini_batch), place_of(tree, key)},
          run);
  }
  DOVETAIL_CHECK(add_types(tree, run));
  add_facts(tree, run);
  return {};
}

}  // namespace dovetail::trainers
