#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/import/layouts.h"
#include "trainers/import/role_training.h"
#include "trainers/import/settings.h"
#include "trainers/verl/layouts.h"
#include "trainers/verl/verl.h"

namespace dovetail::trainers {
namespace {

constexpr std::array checked_actor{
    CheckedSetting{"actor_rollout_ref.actor.strategy", "fsdp|megatron", "memory is modeled as for FSDP1"},
    CheckedSetting{"actor_rollout_ref.actor.fsdp_config.reshard_after_forward", "true",
                   "weights stay gathered from forward to backward; the real run uses more memory and gathers once"},
    CheckedSetting{"actor_rollout_ref.actor.fsdp_config.offload_policy", "false",
                   "FSDP2 keeps weights, gradients and optimizer on the host; modeled as on the device"},
    CheckedSetting{"actor_rollout_ref.actor.fsdp_config.forward_prefetch", "false",
                   "layers are gathered ahead in the forward pass; the real run is slightly faster"},
    CheckedSetting{"actor_rollout_ref.actor.entropy_from_logits_with_chunking", "false",
                   "entropy is computed in chunks; the real run uses less memory for logits"},
    CheckedSetting{"actor_rollout_ref.actor.fsdp_config.entropy_from_logits_with_chunking", "false",
                   "entropy is computed in chunks; the real run uses less memory for logits"},
    CheckedSetting{"actor_rollout_ref.actor.entropy_checkpointing", "false",
                   "entropy is recomputed in the backward pass; the real run uses less memory for logits"},
    CheckedSetting{"actor_rollout_ref.actor.use_torch_compile", "true",
                   "kernels are not compiled; the real run is slower and uses more memory for logits"},
    CheckedSetting{"actor_rollout_ref.actor.freeze_vision_tower", "false", "the vision part is not modeled"},
    CheckedSetting{"actor_rollout_ref.actor.use_prefix_grouper", "false",
                   "the prompt of a group is computed once; the real run is faster"},
    CheckedSetting{"actor_rollout_ref.model.use_liger", "false", "fused kernels; the real run uses less memory"},
    CheckedSetting{"actor_rollout_ref.model.enable_activation_offload", "false",
                   "activations are offloaded to the host; the real run uses less memory and transfers more"},
    CheckedSetting{"actor_rollout_ref.model.mtp.enable", "false",
                   "multi-token prediction layers are not modeled; the real run uses more memory"},
    CheckedSetting{"actor_rollout_ref.model.tiled_mlp.enabled", "false",
                   "tiled MLP; the real run uses less memory for activations"},
    CheckedSetting{"trainer.balance_batch", "true", "modeled as balanced; the real run waits for the slowest rank"},
    CheckedSetting{"algorithm.filter_groups.enable", "false", "discarding and regenerating groups is not modeled"},
    CheckedSetting{"data.gen_batch_size", "null", "modeled as data.train_batch_size"},
    CheckedSetting{"trainer.v1.trainer_mode", "sync",
                   "modeled as phases that wait only for data and devices, with generation in one batch"},
};

constexpr std::array checked_megatron{
    CheckedSetting{"actor_rollout_ref.actor.megatron.use_megatron_fsdp", "false",
                   "modeled as ZeRO 1; the real run shards more"},
    CheckedSetting{"actor_rollout_ref.actor.megatron.dynamic_context_parallel", "false", "modeled with a fixed degree"},
    CheckedSetting{"actor_rollout_ref.actor.megatron.dtype", "bfloat16|null", "modeled as bf16"},
    CheckedSetting{"actor_rollout_ref.actor.optim.override_optimizer_config.overlap_cpu_optimizer_d2h_h2d",
                   "false|null",
                   "transfers of gradients and weights overlap the step on the host; the real run is faster"},
    CheckedSetting{"actor_rollout_ref.actor.optim.optimizer", "adam|null", "modeled as Adam"},
};

constexpr std::array checked_rollout{
    CheckedSetting{"actor_rollout_ref.rollout.name", "vllm", "scheduling is modeled as in vLLM"},
    CheckedSetting{"actor_rollout_ref.rollout.dtype", "bfloat16", "modeled as bf16"},
    CheckedSetting{"actor_rollout_ref.rollout.free_cache_engine", "true",
                   "the engine's KV cache stays on the device; modeled as freed, but the real run uses more memory"},
    CheckedSetting{"actor_rollout_ref.rollout.data_parallel_size", "1",
                   "modeled as independent instances; the real ones share experts and wait for each other"},
    CheckedSetting{"actor_rollout_ref.rollout.cudagraph_capture_sizes", "null", "modeled with vLLM's default sizes"},
    CheckedSetting{"actor_rollout_ref.rollout.layered_summon", "false", "modeled as weights gathered tensor by tensor"},
    CheckedSetting{"actor_rollout_ref.rollout.load_format", "dummy|auto|safetensors", "not modeled"},
    CheckedSetting{"actor_rollout_ref.rollout.multi_turn.enable", "false",
                   "multi-turn rollouts with tools; modeled as one response without waiting"},
    CheckedSetting{"actor_rollout_ref.rollout.multi_stage_wake_up", "false",
                   "weights and KV cache wake up separately; modeled as one wake-up"},
    CheckedSetting{"actor_rollout_ref.rollout.over_sample_rate", "0|0.0", "modeled without extra samples"},
    CheckedSetting{"actor_rollout_ref.rollout.checkpoint_engine.backend", "naive",
                   "modeled as weights sent by NCCL without a checkpoint engine"},
    CheckedSetting{"actor_rollout_ref.rollout.disaggregation.enabled", "false",
                   "prefill and decode on separate instances; modeled on the same instance"},
    CheckedSetting{"actor_rollout_ref.rollout.enable_rollout_routing_replay", "false", "not modeled"},
    CheckedSetting{"actor_rollout_ref.rollout.mode", "async", "modeled as an engine with a server"},
};

constexpr std::array checked_reference{
    CheckedSetting{"actor_rollout_ref.ref.fsdp_config.model_dtype", "fp32|float32|null", "modeled in fp32"},
};

constexpr std::array checked_critic{
    CheckedSetting{"critic.strategy", "fsdp|megatron", "memory is modeled as for FSDP1"},
    CheckedSetting{"critic.fsdp.reshard_after_forward", "true",
                   "weights stay gathered from forward to backward; the real run uses more memory and gathers once"},
    CheckedSetting{"critic.fsdp.offload_policy", "false",
                   "FSDP2 keeps weights, gradients and optimizer on the host; modeled as on the device"},
    CheckedSetting{"critic.model.enable_activation_offload", "false",
                   "activations are offloaded to the host; the real run uses less memory and transfers more"},
};

/// Maps that verl passes through. configuration.cpp and layouts.cpp read the members in `read_of_them`.
constexpr std::array handed_on{
    std::string_view{"actor_rollout_ref.actor.megatron.override_transformer_config"},
    std::string_view{"actor_rollout_ref.actor.megatron.override_ddp_config"},
    std::string_view{"actor_rollout_ref.rollout.engine_kwargs"},
    std::string_view{"actor_rollout_ref.model.override_config"},
    std::string_view{"critic.megatron.override_transformer_config"},
};
constexpr std::array<std::string_view, 7> read_of_them{"recompute_granularity",
                                                       "num_layers_in_first_pipeline_stage",
                                                       "num_layers_in_last_pipeline_stage",
                                                       "recompute_modules",
                                                       "attention_backend",
                                                       "recompute_method",
                                                       "recompute_num_layers"};

/// Settings that verl accepts but ignores.
constexpr std::array<std::string_view, 3> megatron_without_effect{"actor_rollout_ref.actor.megatron.grad_offload",
                                                                  "actor_rollout_ref.ref.megatron.grad_offload",
                                                                  "critic.megatron.grad_offload"};

/// Reports settings that limit recomputation to some layers.
base::Status add_recomputation(const syntax::SettingTree& tree, ImportedRun& run) {
  const std::string keys(handed_on.front());
  DOVETAIL_TRY(const auto granularity, optional_text(tree, keys + ".recompute_granularity"));
  if (granularity == "selective") DOVETAIL_CHECK(add_unmodeled_modules(tree, keys + ".recompute_modules", run));
  if (granularity != "full") return {};
  for (const char* const name : {"recompute_method", "recompute_num_layers"}) {
    const std::string key = keys + "." + name;
    const syntax::Setting* const setting = find_setting(tree.root, key);
    if (setting == nullptr) continue;
    DOVETAIL_CHECK(check_known(tree, key, *setting));
    const std::string value = value_text(*setting);
    if (!is_one_of(value, "null|uniform|1"))
      run.not_modelled.push_back({key, value + ": modeled as recomputing all layers", setting->place});
  }
  return {};
}

/// Reports behavior of verl that no setting controls.
void add_facts(const VerlSettings& settings, ImportedRun& run) {
  if (run.reference && settings.engine == VerlEngine::fsdp)
    run.not_modelled.push_back({"",
                                "the reference's weights are fetched from the host for each micro-batch; modeled as "
                                "fetched once per pass, but the real run is slower"});
  if (run.reference && std::any_of(run.models.begin(), run.models.end(),
                                   [](const ImportedModel& model) { return model.role == "actor" && model.lora > 0; }))
    run.not_modelled.push_back({"", "the reference is the actor without its adapters; modeled as a separate model"});
  if (run.reward_model)
    run.not_modelled.push_back({"reward.reward_model.enable",
                                "true: an engine generates the verdicts; modeled as a forward pass",
                                place_of(settings.tree, "reward.reward_model.enable")});
}

base::Status add_critic(const syntax::SettingTree& tree, ImportedRun& run) {
  DOVETAIL_CHECK(add_unmodeled(tree, "", checked_critic, run));
  constexpr std::string_view batch_key = "critic.ppo_mini_batch_size";
  DOVETAIL_TRY(const std::int64_t batch, count_at(tree, batch_key));
  DOVETAIL_TRY(const std::int64_t epochs, count_at(tree, "critic.ppo_epochs"));
  const std::int64_t samples = std::min(batch, plan::max_count) * run.samples_per_prompt;
  take_critic_batch(
      samples,
      {std::string(batch_key),
       fmt::format("{} prompts, which do not divide the {} prompts of an iteration; modeled as the actor's mini-batch",
                   batch, run.prompts),
       place_of(tree, batch_key)},
      run);
  if (epochs != run.epochs) run.critic_epochs = epochs;
  return {};
}

/// Returns the size of FSDP's shard groups on `devices` GPUs, or 0 for one group of all GPUs.
base::Result<int> fsdp_group(const syntax::SettingTree& tree, const std::string& key, int devices) {
  DOVETAIL_TRY(const auto size, optional_integer(tree, key));
  if (!size || *size < 0 || *size >= devices) return 0;
  if (*size >= 1 && devices % *size == 0) return static_cast<int>(*size);
  return setting_error(tree, key, fmt::format("is {}; accepted: -1, or a divisor of the {} GPUs", *size, devices));
}

/// Returns the state types and shard groups with FSDP, which keeps weights, gradients and moments in the type in which
/// it creates the model.
base::Result<RoleTypes> fsdp_types(const syntax::SettingTree& tree, const std::string& keys, int devices) {
  RoleTypes role;
  const std::string size_key = keys + ".fsdp_size";
  DOVETAIL_TRY(role.types.shard_group, fsdp_group(tree, size_key, devices));
  if (role.types.shard_group > 0)
    role.otherwise.push_back(
        {size_key,
         fmt::format("{}: several shard groups; modeled as one group of all GPUs, but the real run uses "
                     "more memory and sends less",
                     role.types.shard_group),
         place_of(tree, size_key)});
  const std::string key = keys + ".model_dtype";
  DOVETAIL_TRY(const auto value, optional_text(tree, key));
  if (!value) return role;
  const auto type = state_type(*value);
  if (!type) return setting_error(tree, key, fmt::format("is {}; accepted: fp32, bf16, fp16", *value));
  if (type == plan::StateType::fp32) return role;
  role.types.weight_type = role.types.gradient_type = role.types.moment_type = *type;
  role.otherwise.push_back(
      {key, fmt::format("{}: shards are not in fp32; modeled in fp32, but the real run uses less memory", *value),
       place_of(tree, key)});
  return role;
}

/// Returns the type at `key`, which only the precision-aware optimizer uses.
base::Result<plan::StateType> aware_type(const syntax::SettingTree& tree, const std::string& key) {
  DOVETAIL_TRY(const auto value, optional_text(tree, key));
  const auto type = value ? state_type(*value) : plan::StateType::fp32;
  if (!type || *type == plan::StateType::fp16)
    return setting_error(tree, key, fmt::format("is {}; accepted: fp32, bf16", *value));
  return *type == plan::StateType::fp32 ? plan::StateType::by_default : *type;
}

/// Returns the state types with Megatron. Its precision-aware optimizer keeps only the part of the master weights that
/// bf16 loses, and uses the given types for gradients and moments. On the host, all states are in fp32.
base::Result<RoleTypes> verl_megatron_types(const syntax::SettingTree& tree, const std::string& keys) {
  RoleTypes role;
  const std::string key = keys + ".use_precision_aware_optimizer";
  const std::string override_key = keys + ".override_optimizer_config.use_precision_aware_optimizer";
  DOVETAIL_TRY(const auto own, optional_flag(tree, key));
  DOVETAIL_TRY(const auto overridden, optional_flag(tree, override_key));
  DOVETAIL_TRY(const HostShare on_host, verl_host_share(tree, keys));
  if (!overridden.value_or(own.value_or(false)) || on_host.has_part()) return role;
  role.types.master_type = plan::MasterType::remainder;
  if (own.value_or(false)) {
    DOVETAIL_TRY(role.types.gradient_type, aware_type(tree, keys + ".main_grads_dtype"));
    DOVETAIL_TRY(role.types.moment_type, aware_type(tree, keys + ".exp_avg_dtype"));
    DOVETAIL_TRY(const plan::StateType second, aware_type(tree, keys + ".exp_avg_sq_dtype"));
    const std::string second_key = keys + ".exp_avg_sq_dtype";
    if (second != role.types.moment_type) {
      role.types.moment_type = plan::StateType::by_default;
      role.otherwise.push_back({second_key, "moments of two types; modeled in fp32, but the real run uses less memory",
                                place_of(tree, second_key)});
    }
  }
  const std::string& set_key = overridden ? override_key : key;
  role.otherwise.push_back({set_key,
                            "true: gradients and moments may have smaller types; modeled in fp32, but the real run "
                            "uses less memory",
                            place_of(tree, set_key)});
  return role;
}

/// Sets the share of the optimizer that is stepped on the host.
base::Status add_host_shares(const syntax::SettingTree& tree, bool has_critic, ImportedRun& run) {
  std::vector<HostShare> shares;
  for (const std::string_view optimizer : {"actor_rollout_ref.actor.optim", "critic.optim"}) {
    if (optimizer == "critic.optim" && !has_critic) continue;
    DOVETAIL_TRY(shares.emplace_back(), verl_host_share(tree, optimizer));
    if (!shares.back().steps || shares.back().share > 0) continue;
    const std::string key = fmt::format("{}.override_optimizer_config.optimizer_cpu_offload", optimizer);
    run.ignored.push_back({key, "no effect without optimizer_offload_fraction", place_of(tree, key)});
  }
  take_host_shares(tree, shares, run);
  return {};
}

/// Sets how many logits the actor's loss keeps with fused kernels, and whether it computes entropy.
base::Status add_loss(const VerlSettings& settings, ImportedRun& run) {
  const syntax::SettingTree& tree = settings.tree;
  DOVETAIL_TRY(const auto weight, optional_number(tree, "actor_rollout_ref.actor.entropy_coeff"));
  DOVETAIL_TRY(const auto requested, optional_flag(tree, "actor_rollout_ref.actor.calculate_entropy"));
  if (weight.value_or(0) == 0 && !requested.value_or(false)) run.software.loss_entropy = plan::LossEntropy::none;
  DOVETAIL_TRY(const auto fused, optional_flag(tree, "actor_rollout_ref.model.use_fused_kernels"));
  const std::string kernels_key = "actor_rollout_ref.model.fused_kernel_options.impl_backend";
  DOVETAIL_TRY(const auto kernels, optional_text(tree, kernels_key));
  if (!fused.value_or(false)) return {};
  // verl/utils/experimental/torch_functional.py, and verl/utils/kernel/kernels.py, which Megatron always has.
  constexpr std::int64_t tokens_of_torch_kernel = 512;
  constexpr std::int64_t entries_of_triton_kernel = 9504;
  const std::string kernel = settings.engine == VerlEngine::megatron ? "triton" : kernels.value_or("torch");
  if (kernel == "torch")
    run.software.logit_tokens = tokens_of_torch_kernel;
  else if (kernel == "triton")
    run.software.logit_entries = entries_of_triton_kernel;
  else
    run.not_modelled.push_back(
        {kernels_key, kernel + ": unknown kernels; modeled with full logits", place_of(tree, kernels_key)});
  return {};
}

/// Sets the state types of the trained roles and the memory of the actor's loss.
base::Status add_types(const VerlSettings& settings, bool has_critic, ImportedRun& run) {
  const syntax::SettingTree& tree = settings.tree;
  const auto trained = std::find_if(run.tasks.begin(), run.tasks.end(),
                                    [](const ImportedTask& task) { return task.task == "actor_train"; });
  const int devices = trained == run.tasks.end() ? 0 : trained->planned.mesh.count;
  std::vector<RoleTypes> roles;
  if (settings.engine == VerlEngine::megatron) {
    DOVETAIL_TRY(roles.emplace_back(), verl_megatron_types(tree, "actor_rollout_ref.actor.optim"));
    if (has_critic) {
      DOVETAIL_TRY(roles.emplace_back(), verl_megatron_types(tree, "critic.optim"));
    }
    DOVETAIL_CHECK(add_host_shares(tree, has_critic, run));
  } else {
    DOVETAIL_TRY(roles.emplace_back(), fsdp_types(tree, "actor_rollout_ref.actor.fsdp_config", devices));
    if (has_critic) {
      DOVETAIL_TRY(roles.emplace_back(), fsdp_types(tree, "critic.fsdp", devices));
    }
  }
  take_types(roles, run);
  if (run.reference && settings.engine == VerlEngine::fsdp) {
    const std::string size_key = "actor_rollout_ref.ref.fsdp_config.fsdp_size";
    DOVETAIL_TRY(const int group, fsdp_group(tree, size_key, devices));
    if (group != run.software.shard_group)
      run.not_modelled.push_back(
          {size_key,
           fmt::format("{}: the shard groups of the reference differ; modeled with the actor's groups",
                       group == 0 ? "all GPUs" : std::to_string(group)),
           place_of(tree, size_key)});
  }
  return add_loss(settings, run);
}

/// Reports parallel degrees that differ from those of the engine that is built first, which all roles use.
void add_other_degrees(const syntax::SettingTree& tree, bool has_critic, ImportedRun& run) {
  const std::string_view first = has_critic ? "critic.megatron" : "actor_rollout_ref.ref.megatron";
  const bool any = has_critic || run.reference;
  if (!any) return;
  for (const std::string_view other : {"actor_rollout_ref.actor.megatron", "actor_rollout_ref.ref.megatron"}) {
    if (other == first || (other.find(".ref.") != std::string_view::npos && !run.reference)) continue;
    for (const char* const name :
         {"tensor_model_parallel_size", "pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size",
          "context_parallel_size", "expert_model_parallel_size", "expert_tensor_parallel_size"}) {
      const std::string key = fmt::format("{}.{}", other, name);
      const syntax::Setting* const own = find_setting(tree.root, key);
      const syntax::Setting* const built = find_setting(tree.root, fmt::format("{}.{}", first, name));
      if (own == nullptr || built == nullptr || value_text(*own) == value_text(*built)) continue;
      run.ignored.push_back({key,
                             fmt::format("{}: no effect, because {} sets it to {} for all roles", value_text(*own),
                                         first, value_text(*built)),
                             own->place});
    }
  }
}

}  // namespace

base::Status add_verl_unmodeled(const VerlSettings& settings, ImportedRun& run) {
  const syntax::SettingTree& tree = settings.tree;
  const bool megatron = settings.engine == VerlEngine::megatron;
  DOVETAIL_CHECK(add_unmodeled(tree, "", checked_actor, run));
  if (megatron) DOVETAIL_CHECK(add_unmodeled(tree, "", checked_megatron, run));
  DOVETAIL_CHECK(add_unmodeled(tree, "", checked_rollout, run));
  DOVETAIL_CHECK(take_sync_bucket(tree, "actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes",
                                  1 << 20, run));
  DOVETAIL_TRY(run.software.engine, engine_kind(tree, "actor_rollout_ref.rollout.name"));
  DOVETAIL_CHECK(take_engine_weights(tree, "actor_rollout_ref.rollout.quantization", run));
  if (run.reference) DOVETAIL_CHECK(add_unmodeled(tree, "", checked_reference, run));
  const bool has_critic = run.algorithm == "ppo";
  if (has_critic) DOVETAIL_CHECK(add_critic(tree, run));
  DOVETAIL_CHECK(add_types(settings, has_critic, run));
  for (const std::string_view key : handed_on) add_passed_on(tree, std::string(key), read_of_them, run);
  if (megatron) {
    DOVETAIL_CHECK(add_recomputation(tree, run));
    add_other_degrees(tree, has_critic, run);
    for (const std::string_view key : megatron_without_effect)
      if (const syntax::Place place = place_of(tree, key); place.line > 0)
        run.ignored.push_back({std::string(key), "no effect: gradients follow param_offload", place});
  } else if (run.reference) {
    constexpr std::string_view key = "actor_rollout_ref.ref.fsdp_config.param_offload";
    if (const syntax::Place place = place_of(tree, key); place.line > 0)
      run.ignored.push_back({std::string(key), "no effect: the reference is always on the host", place});
  }
  add_facts(settings, run);
  return {};
}

}  // namespace dovetail::trainers
