#include "trainers/areal/watched.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/areal/layouts.h"
#include "trainers/areal/settings.h"
#include "trainers/import/layouts.h"
#include "trainers/import/role_training.h"
#include "trainers/import/settings.h"
#include "trainers/import/watched.h"

namespace dovetail::trainers {
namespace {

constexpr std::array whole_settings{
    Watched{"enable_offload", "false", "memory is allocated by torch_memory_saver: not counted"},
    Watched{"dynamic_bs", "false", "groups that are thrown away are not replaced: counted as whole batches"},
    Watched{"rollout.pause_grace_period", "0|0.0", "seconds before each transfer of weights: not counted"},
    Watched{"rollout.return_routed_experts", "false", "experts of the rollout are used in training: not counted"},
    Watched{"rollout.scheduling_strategy.fork", "true", "in the process of another engine: counted as its own"},
    Watched{"rollout._version", "v1", "rollout by way of a gateway: not counted"},
    Watched{"rollout.agent.mode", "inline|subproc", "sessions come from outside: counted as if each began at once"},
    Watched{"rollout.api_url", "null", "a model outside of the cluster: counted as the engine"},
    Watched{"actor.weight_update_mode", "xccl", "weights go by way of files: counted as sent, the real run is slower"},
    Watched{"gconfig.use_beam_search", "false", "beams: counted as one sequence"},
    Watched{"gconfig.ignore_eos", "false", "responses go on to their cap: counted by the lengths that are said"},
    Watched{"gconfig.min_new_tokens", "0", "responses have at least as many: counted by the lengths that are said"},
};

/// Of each role.
constexpr std::array role_settings{
    Watched{"mb_spec.n_mbs", "1|null", "micro-batches at least: counted by their tokens"},
    Watched{"mb_spec.n_mbs_divisor", "1", "micro-batches are a multiple of that: not counted"},
    Watched{"mb_spec.granularity", "1", "sequences stay together: counted one by one"},
    Watched{"mb_spec.packing_algorithm", "ffd", "counted as packed by first fit"},
    Watched{"pad_to_maximum", "false", "micro-batches are padded to their limit: the real run is slower"},
    Watched{"enable_tree_training", "false", "prefixes are computed once: the real run is faster"},
    Watched{"scheduling_strategy.fork", "true", "in the process of another engine: counted as its own"},
    Watched{"_version", "v1", "training by way of a gateway: not counted"},
    Watched{"peft_type", "lora", "counted as LoRA"},
    Watched{"target_modules", "[]|[all-linear]|all-linear", "adapters are counted at all projections"},
};

constexpr std::array fsdp_settings{
    Watched{"attn_impl", "flash_attention_2|flash_attention_3",
            "counted as flash attention, the real run is slower and holds more"},
    Watched{"use_kernels", "false", "other kernels: not counted"},
    Watched{"grad_reduce_dtype", "float32", "gradients are reduced in another type: counted in fp32"},
    Watched{"fsdp.wrap_policy", "null", "counted as gathered layer by layer"},
    Watched{"fsdp.offload_params", "false",
            "weights and gradients are fetched from the host layer by layer: only the optimizer is counted there"},
    Watched{"fsdp.per_layer_optim_step", "false",
            "the optimizer's states come layer by layer for a step on the GPU: counted as a step on the host"},
    Watched{"fsdp.optim_step_prefetch_layers", "1", "not counted"},
    Watched{"fsdp.shard_vision_across_sp", "false", "vision is not counted"},
};

constexpr std::array archon_settings{
    Watched{"attn_type", "varlen", "counted as flash attention"},
    Watched{"offload_params", "false",
            "weights and gradients are fetched from the host layer by layer: only the optimizer is counted there"},
    Watched{"enable_compile", "false", "compiled layers: the real run is faster"},
    Watched{"pp_schedule", "1F1B|Interleaved1F1B", "counted as interleaved 1F1B, the real run waits less"},
    Watched{"pp_first_stage_less_layers", "0", "the first stage has fewer layers: counted as even stages"},
    Watched{"pp_last_stage_less_layers", "0", "the last stage has fewer layers: counted as even stages"},
    Watched{"reshard_after_forward_policy", "default", "counted as by default: gathered again but in pipelines"},
    Watched{"fp8_config.mode", "disabled", "training in fp8: counted as bf16, the real run is faster"},
    Watched{"use_deterministic_algorithms", "false", "deterministic kernels: the real run is slower"},
};

/// Of Archon's recomputation.
constexpr std::array archon_recomputation{
    Watched{"ac_mode", "none|full|selective", "counted as selective"},
    Watched{"selective_ac_option", "op", "whole layers in turn: counted as operators of all layers"},
    Watched{"ac_preserve_rng_state", "false", "not counted"},
};

constexpr std::array megatron_settings{
    Watched{"wrap_with_ddp", "true", "counted with Megatron's data parallelism"},
    Watched{"use_torch_fsdp2", "false", "counted as ZeRO 1, the real run cuts more"},
    Watched{"use_custom_fsdp", "false", "counted as ZeRO 1, the real run cuts more"},
    Watched{"ddp.overlap_grad_reduce", "true", "counted as beside the backward, the real run is slower"},
    Watched{"ddp.overlap_param_gather", "true", "counted as beside the forward, the real run is slower"},
    Watched{"ddp.bucket_size", "null", "not counted"},
    Watched{"ddp.fp8_param_gather", "false", "counted in bf16"},
    Watched{"overlap_param_gather_with_optimizer_step", "false", "the real run is faster"},
    Watched{"main_grads_dtype", "float32", "counted as they are reduced"},
    Watched{"main_params_dtype", "float32", "counted in fp32"},
    Watched{"use_deterministic_algorithms", "false", "deterministic kernels: the real run is slower"},
    Watched{"moe_shared_expert_overlap", "false", "shared experts beside the exchange: the real run is faster"},
    Watched{"moe_enable_deepep", "false", "experts' tokens sent by DeepEP: the real run sends faster"},
    Watched{"moe_token_dispatcher_type", "alltoall", "counted as all-to-all"},
    Watched{"moe_permute_fusion", "false", "the real run is faster"},
    Watched{"fp8_config", "null", "training in fp8: counted as bf16, the real run is faster"},
};

/// Of Megatron's recomputation.
constexpr std::array megatron_recomputation{
    Watched{"recompute_method", "uniform|null", "counted as every layer"},
    Watched{"recompute_num_layers", "1|null", "layers that are recomputed together: counted one by one"},
    Watched{"distribute_saved_activations", "null|false", "inputs of layers are cut over tensor ranks: counted whole"},
};

/// Of the engines what is read or has no effect on time and memory; all else is handed on.
constexpr std::array<std::string_view, 29> known_of_sglang{"model_path",
                                                           "kv_cache_dtype",
                                                           "random_seed",
                                                           "skip_tokenizer_init",
                                                           "disable_cuda_graph",
                                                           "context_length",
                                                           "mem_fraction_static",
                                                           "max_running_requests",
                                                           "chunked_prefill_size",
                                                           "max_prefill_tokens",
                                                           "ep_size",
                                                           "disable_outlines_disk_cache",
                                                           "enable_nan_detection",
                                                           "allow_auto_truncate",
                                                           "enable_multimodal",
                                                           "sampling_backend",
                                                           "log_level",
                                                           "log_level_http",
                                                           "log_requests",
                                                           "log_requests_level",
                                                           "show_time_cost",
                                                           "enable_metrics",
                                                           "decode_log_interval",
                                                           "enable_multithread_load",
                                                           "enable_memory_saver",
                                                           "enable_lora",
                                                           "max_lora_rank",
                                                           "max_loaded_loras",
                                                           "lora_paths"};
constexpr std::array<std::string_view, 15> known_of_vllm{"model",
                                                         "seed",
                                                         "skip_tokenizer_init",
                                                         "enforce_eager",
                                                         "max_num_seqs",
                                                         "max_model_len",
                                                         "no_enable_chunked_prefill",
                                                         "gpu_memory_utilization",
                                                         "worker_extension_cls",
                                                         "uvicorn_log_level",
                                                         "enable_sleep_mode",
                                                         "enable_lora",
                                                         "max_lora_rank",
                                                         "max_loras",
                                                         "lora_modules"};

/// Parts of a configuration by which no iteration takes longer or needs more memory, or that are read elsewhere.
constexpr std::array<std::string_view, 32> known_parts{"experiment_name",
                                                       "trial_name",
                                                       "cluster",
                                                       "allocation_mode",
                                                       "seed",
                                                       "enable_offload",
                                                       "total_train_epochs",
                                                       "total_train_steps",
                                                       "total_train_n_seqs",
                                                       "tokenizer_path",
                                                       "train_dataset",
                                                       "valid_dataset",
                                                       "saver",
                                                       "evaluator",
                                                       "stats_logger",
                                                       "perf_tracer",
                                                       "memory_profiler",
                                                       "recover",
                                                       "sglang",
                                                       "vllm",
                                                       "scheduler",
                                                       "gconfig",
                                                       "eval_gconfig",
                                                       "rollout",
                                                       "actor",
                                                       "ref",
                                                       "critic",
                                                       "teacher",
                                                       "dynamic_bs",
                                                       "launcher",
                                                       "async_training",
                                                       "name_resolve"};
/// Of these, what versions had before.
constexpr std::array<std::string_view, 2> gone_parts{"launcher", "async_training"};

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Lists what somebody wrote below `key` and the defaults do not have.
void add_unknown(const std::string& key, const syntax::Setting& setting, const syntax::Setting& defaults,
                 ImportedRun& run) {
  if (setting.kind != syntax::Setting::Kind::map || defaults.kind != syntax::Setting::Kind::map ||
      defaults.members.empty())
    return;
  for (const auto& [name, value] : setting.members) {
    const std::string below = fmt::format("{}.{}", key, name);
    if (const syntax::Setting* const known = find_member(defaults, name))
      add_unknown(below, value, *known, run);
    else if (value.place.line > 0)
      run.ignored.push_back(
          {below, fmt::format("{} has no such setting, and stops at it", areal_version), value.place});
  }
}

/// Lists what somebody wrote of an engine that neither is known nor has the value that holds anyway.
base::Status add_handed_on(const syntax::SettingTree& tree, const std::string& section,
                           std::span<const std::string_view> known, const syntax::Setting& defaults, ImportedRun& run) {
  const syntax::Setting* const written = find_setting(tree.root, section);
  if (written == nullptr) return {};
  for (const auto& [name, value] : written->members) {
    const syntax::Setting* const usual = find_member(defaults, name);
    if (value.place.line == 0 || usual == nullptr || is_among(known, name)) continue;
    const std::string key = fmt::format("{}.{}", section, name);
    DOVETAIL_CHECK(check_known(tree, key, value));
    if (value_words(value) != value_words(*usual))
      run.not_modelled.push_back(
          {key, fmt::format("{}: handed on as it is, not counted", value_words(value)), value.place});
  }
  return {};
}

/// Programs that say something of their agent have one, whose turns are in no setting.
void add_agent(const syntax::SettingTree& tree, const syntax::Setting& defaults, ImportedRun& run) {
  const syntax::Setting* const agent = find_setting(tree.root, "rollout.agent");
  if (agent == nullptr) return;
  const bool said = std::any_of(agent->members.begin(), agent->members.end(), [&](const auto& member) {
    const syntax::Setting* const usual = find_member(defaults, member.first);
    return member.first != "scheduling_spec" && member.first != "admin_api_key" && usual != nullptr &&
           value_words(member.second) != value_words(*usual);
  });
  if (said)
    run.not_modelled.push_back(
        {"rollout.agent", "turns of an agent: counted as one response without waiting", agent->place});
}

/// Settings of a role that nothing heeds: of other backends, and of recomputation where there is none.
void add_unheeded(const syntax::SettingTree& tree, const ArealEngine& engine, bool recomputes, ImportedRun& run) {
  const auto add = [&](const std::string& key, const std::string& why) {
    if (const syntax::Place place = place_of(tree, key); place.line > 0) run.ignored.push_back({key, why, place});
  };
  for (const std::string backend : {"fsdp", "archon", "megatron"})
    if (backend != engine.allocation.backend)
      add(fmt::format("{}.{}", engine.role, backend),
          fmt::format("the engine is {}: it has no effect", engine.allocation.backend));
  if (recomputes) return;
  for (const char* const name :
       {"archon.ac_mode", "archon.selective_ac_option", "megatron.recompute_granularity", "megatron.recompute_method",
        "megatron.recompute_num_layers", "megatron.recompute_modules"})
    if (std::string_view(name).starts_with(engine.allocation.backend))
      add(fmt::format("{}.{}", engine.role, name), "without gradient_checkpointing it has no effect");
}

/// Megatron sums gradients in the type that they are reduced in. Its precision-aware optimizer, which adam_bf16 is with
/// moments in bf16, keeps of master weights what bf16 leaves of them. On the host all is in fp32.
base::Result<RoleTypes> megatron_types(const syntax::SettingTree& tree, const ArealEngine& engine, bool is_adam_bf16) {
  RoleTypes role;
  const std::string keys = engine.role + ".megatron.";
  const auto otherwise = [&](const std::string& key, const char* what) {
    role.otherwise.push_back({key, what, place_of(tree, key)});
  };
  DOVETAIL_TRY(const auto in_fp32, optional_flag(tree, keys + "ddp.grad_reduce_in_fp32"));
  if (!in_fp32.value_or(true)) {
    role.types.gradient_type = plan::StateType::bf16;
    otherwise(keys + "ddp.grad_reduce_in_fp32", "false: gradients in bf16: counted in fp32, the real run holds less");
  }
  DOVETAIL_TRY(const bool on_host, areal_optimizer_on_host(tree, engine));
  DOVETAIL_TRY(const auto aware, optional_flag(tree, keys + "use_precision_aware_optimizer"));
  if (on_host || (!aware.value_or(false) && !is_adam_bf16)) return role;
  role.types.master_type = plan::MasterType::remainder;
  DOVETAIL_TRY(const auto first_said, optional_text(tree, keys + "exp_avg_dtype"));
  DOVETAIL_TRY(const auto second_said, optional_text(tree, keys + "exp_avg_sq_dtype"));
  const std::string first = first_said.value_or("float32");
  const std::string second = second_said.value_or("float32");
  const auto moments = is_adam_bf16 ? plan::StateType::bf16 : state_type(first);
  if (moments && moments != plan::StateType::fp32 && (is_adam_bf16 || first == second))
    role.types.moment_type = *moments;
  const std::string key = is_adam_bf16 ? engine.role + ".optimizer.type" : keys + "use_precision_aware_optimizer";
  otherwise(key, "states of other types: counted in fp32, the real run holds less");
  return role;
}

/// Types of moments that jobs do not say.
base::Status watch_moments(const syntax::SettingTree& tree, const std::string& keys, ImportedRun& run) {
  DOVETAIL_TRY(const auto first_said, optional_text(tree, keys + "exp_avg_dtype"));
  DOVETAIL_TRY(const auto second_said, optional_text(tree, keys + "exp_avg_sq_dtype"));
  const std::string first = first_said.value_or("float32");
  const std::string second = second_said.value_or("float32");
  const std::string key = keys + (state_type(first) == plan::StateType::fp32 ? "exp_avg_sq_dtype" : "exp_avg_dtype");
  if (first != second || !state_type(first))
    run.not_modelled.push_back(
        {key, fmt::format("{}: moments are counted in fp32, the real run holds less", first == second ? first : second),
         place_of(tree, key)});
  return {};
}

/// Types of weights and of what the optimizer keeps.
base::Status watch_types(const syntax::SettingTree& tree, const ArealEngine& engine, bool trains,
                         std::vector<RoleTypes>& roles, ImportedRun& run) {
  const std::string key = engine.role + ".dtype";
  DOVETAIL_TRY(const std::string type, text_at(tree, key));
  const auto add = [&](const std::string& at, const std::string& what) {
    run.not_modelled.push_back({at, what, place_of(tree, at)});
  };
  const bool is_short = type == "bfloat16" || type == "float16";
  DOVETAIL_TRY(const bool adapters, flag_at(tree, engine.role + ".use_lora"));
  if (engine.allocation.backend == "megatron") {
    if (type != "bfloat16") add(key, fmt::format("{}: counted as bf16", type));
  } else if (!is_short) {
    add(key,
        fmt::format("{}: computed in fp32: counted as computed in bf16, the real run is slower and holds more", type));
  }
  if (!trains) return {};
  const std::string optimizer_key = engine.role + ".optimizer.type";
  DOVETAIL_TRY(const auto optimizer, optional_text(tree, optimizer_key));
  if (engine.allocation.backend == "megatron") {
    DOVETAIL_TRY(roles.emplace_back(), megatron_types(tree, engine, optimizer.value_or("adam") == "adam_bf16"));
    if (optimizer.value_or("adam") == "adam") DOVETAIL_CHECK(watch_moments(tree, engine.role + ".megatron.", run));
  } else if (is_short) {
    // FSDP keeps all of a model in the type of its weights.
    RoleTypes& role = roles.emplace_back();
    const plan::StateType kept = state_type(type).value();
    role.types.weight_type = role.types.gradient_type = role.types.moment_type = kept;
    role.otherwise.push_back(
        {key,
         fmt::format("{}: {} are kept in 16 bits, 8 bytes a parameter: counted in 32, the real run holds half of that",
                     type, adapters ? "adapters" : "weights, gradients and moments"),
         place_of(tree, key)});
  } else {
    roles.emplace_back();
  }
  if (optimizer.value_or("adam") == "sgd") add(optimizer_key, "sgd: counted as Adam, whose moments take more");
  if (optimizer.value_or("adam") == "adam_bf16" && engine.allocation.backend != "megatron")
    add(optimizer_key, "adam_bf16: moments in bf16 beside weights of their own type: not counted");
  return {};
}

base::Status watch_role(const syntax::SettingTree& tree, const ArealEngine& engine, std::vector<RoleTypes>& roles,
                        ImportedRun& run) {
  const std::string keys = engine.role + ".";
  const std::string& backend = engine.allocation.backend;
  const bool trains = engine.role != "ref";
  DOVETAIL_CHECK(watch(tree, keys, role_settings, run));
  DOVETAIL_CHECK(watch_types(tree, engine, trains, roles, run));
  DOVETAIL_TRY(const bool recomputes, flag_at(tree, keys + "gradient_checkpointing"));
  add_unheeded(tree, engine, recomputes, run);
  if (backend == "fsdp") return watch(tree, keys, fsdp_settings, run);
  if (backend == "archon") {
    const auto pipeline = [](const Watched& each) { return each.key.starts_with("pp_"); };
    for (const Watched& each : archon_settings)
      if (engine.allocation.pipeline > 1 || !pipeline(each))
        DOVETAIL_CHECK(watch(tree, keys + "archon.", std::span(&each, 1), run));
    if (recomputes && trains) DOVETAIL_CHECK(watch(tree, keys + "archon.", archon_recomputation, run));
    return {};
  }
  const std::string megatron_keys = keys + "megatron.";
  for (const Watched& each : megatron_settings)
    // Only what trains exchanges gradients and has an optimizer.
    if (trains || (!each.key.starts_with("ddp.") && !each.key.starts_with("overlap_")))
      DOVETAIL_CHECK(watch(tree, megatron_keys, std::span(&each, 1), run));
  if (!recomputes || !trains) return {};
  DOVETAIL_CHECK(watch(tree, megatron_keys, megatron_recomputation, run));
  return watch_modules(tree, megatron_keys + "recompute_modules", run);
}

base::Status watch_rollout(const syntax::SettingTree& tree, const ArealEngine& rollout, ImportedRun& run) {
  DOVETAIL_TRY(const syntax::Setting defaults, areal_defaults());
  const bool sglang = rollout.allocation.backend == "sglang";
  const std::string section = sglang ? "sglang" : "vllm";
  const std::string other = sglang ? "vllm" : "sglang";
  if (const syntax::Place place = place_of(tree, other); place.line > 0)
    run.ignored.push_back({other, fmt::format("the rollout runs {}: it has no effect", section), place});
  if (sglang) run.software.engine = plan::EngineKind::sglang;
  if (sglang)
    run.not_modelled.push_back(
        {rollout.key, "sglang: the engine is counted as vLLM schedules", place_of(tree, rollout.key)});
  const std::span<const std::string_view> known =
      sglang ? std::span<const std::string_view>(known_of_sglang) : std::span<const std::string_view>(known_of_vllm);
  DOVETAIL_CHECK(add_handed_on(tree, section, known, *find_member(defaults, section), run));
  if (sglang) DOVETAIL_CHECK(take_key_values(tree, "sglang.kv_cache_dtype", run));
  add_agent(tree, *find_setting(defaults, "rollout.agent"), run);
  DOVETAIL_TRY(const bool adapters, flag_at(tree, "actor.use_lora"));
  if (adapters)
    run.not_modelled.push_back({"actor.use_lora", "the rollout has adapters beside its weights: counted as merged",
                                place_of(tree, "actor.use_lora")});
  const std::string consumed_key = "rollout.consumer_batch_size";
  DOVETAIL_TRY(const std::int64_t consumed, count_at(tree, consumed_key));
  if (consumed > run.prompts)
    run.not_modelled.push_back(
        {consumed_key,
         fmt::format("{}: more prompts begin ahead than the {} of a batch: counted as a batch", consumed, run.prompts),
         place_of(tree, consumed_key)});
  return {};
}

/// What differs between roles that share a rule in a job.
base::Status add_differences(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines,
                             ImportedRun& run) {
  DOVETAIL_TRY(const std::string actor_path, text_at(tree, "actor.path"));
  DOVETAIL_TRY(const std::int64_t actor_parts, count_at(tree, "actor.ppo_n_minibatches"));
  const std::string& actor_backend = areal_engine_of(engines, "actor").allocation.backend;
  for (const ArealEngine& engine : engines) {
    if (engine.role != "ref" && engine.role != "critic") continue;
    if (engine.allocation.backend != actor_backend)
      run.not_modelled.push_back(
          {engine.key,
           fmt::format("{}: memory is counted as of the actor's {}", engine.allocation.backend, actor_backend),
           place_of(tree, engine.key)});
    if (engine.role == "ref") {
      DOVETAIL_TRY(const std::string path, text_at(tree, "ref.path"));
      if (path != actor_path)
        run.not_modelled.push_back(
            {"ref.path", fmt::format("{}: counted in the shape of the actor", path), place_of(tree, "ref.path")});
      continue;
    }
    const std::string key = "critic.ppo_n_minibatches";
    DOVETAIL_TRY(const std::int64_t parts, count_at(tree, key));
    const std::int64_t samples = run.prompts * run.samples_per_prompt;
    if (parts != actor_parts)
      take_critic_batch(samples % parts == 0 ? samples / parts : 0,
                        {key, fmt::format("{}: counted as of the actor, {}", parts, actor_parts), place_of(tree, key)},
                        run);
  }
  return {};
}

/// Facts of AReaL that are no one setting.
void add_facts(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines, const llm::Transformer& model,
               ImportedRun& run) {
  if (areal_is_colocated(engines) && run.steps_off_policy > 0)
    run.not_modelled.push_back({"rollout.max_head_offpolicyness",
                                "sequences that were begun wait while the actor trains on their GPUs: counted as "
                                "batches by themselves",
                                place_of(tree, "rollout.max_head_offpolicyness")});
  for (const ArealEngine& engine : engines)
    if (!model.experts && (engine.allocation.expert > 1 || engine.allocation.expert_tensor > 1))
      run.ignored.push_back({engine.key, "the model has no experts to deal out", place_of(tree, engine.key)});
  if (!run.reference && areal_has_role(tree, "ref"))
    run.ignored.push_back({"ref", "actor.kl_ctl is 0: there is no reference", place_of(tree, "ref")});
}

}  // namespace

base::Status add_areal_watched(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines,
                               const llm::Transformer& model, ImportedRun& run) {
  DOVETAIL_TRY(const syntax::Setting defaults, areal_defaults());
  DOVETAIL_CHECK(watch(tree, "", whole_settings, run));
  std::vector<RoleTypes> types;
  for (const ArealEngine& engine : engines)
    if (engine.role != "rollout") DOVETAIL_CHECK(watch_role(tree, engine, types, run));
  take_types(types, run);
  DOVETAIL_CHECK(watch_rollout(tree, areal_engine_of(engines, "rollout"), run));
  DOVETAIL_CHECK(add_differences(tree, engines, run));
  for (const auto& [name, value] : tree.root.members) {
    if (is_among(gone_parts, name))
      run.ignored.push_back({name, "versions since have no such setting", value.place});
    else if (!is_among(known_parts, name) && value.place.line > 0)
      run.not_modelled.push_back({name, "a setting of the program's own: not counted", value.place});
    const bool listed = name == "gconfig" || name == "rollout" || name == "actor" || name == "critic" ||
                        name == "sglang" || name == "vllm" || name == "ref";
    if (!listed || (name == "ref" && !run.reference)) continue;
    add_unknown(name, value, *find_member(defaults, name == "ref" ? "actor" : name), run);
  }
  add_facts(tree, engines, model, run);
  return {};
}

}  // namespace dovetail::trainers
