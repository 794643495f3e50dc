#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/areal/areal.h"
#include "trainers/areal/engines.h"
#include "trainers/areal/layouts.h"
#include "trainers/import/layouts.h"
#include "trainers/import/role_training.h"
#include "trainers/import/settings.h"

namespace dovetail::trainers {
namespace {

constexpr std::array whole_settings{
    CheckedSetting{"enable_offload", "false", "memory allocated by torch_memory_saver is not modeled"},
    CheckedSetting{"dynamic_bs", "false", "discarded groups are not replaced; modeled as complete batches"},
    CheckedSetting{"rollout.pause_grace_period", "0|0.0", "the pause before each weight sync is not modeled"},
    CheckedSetting{"rollout.return_routed_experts", "false",
                   "reusing the rollout's expert choices in training is not modeled"},
    CheckedSetting{"rollout.scheduling_strategy.fork", "true",
                   "runs in the process of another engine; modeled as a separate process"},
    CheckedSetting{"rollout._version", "v1", "the rollout gateway is not modeled"},
    CheckedSetting{"rollout.agent.mode", "inline|subproc",
                   "sessions arrive from outside; modeled as all starting together"},
    CheckedSetting{"rollout.api_url", "null",
                   "generation uses a model outside the cluster; modeled as the run's engine"},
    CheckedSetting{"actor.weight_update_mode", "xccl",
                   "weights are sent through files; modeled as NCCL, but the real run is slower"},
    CheckedSetting{"gconfig.use_beam_search", "false", "beam search; modeled as one sequence"},
    CheckedSetting{"gconfig.ignore_eos", "false", "responses continue to their cap; modeled with the given lengths"},
    CheckedSetting{"gconfig.min_new_tokens", "0", "minimum response length; modeled with the given lengths"},
};

/// Settings of each role.
constexpr std::array role_settings{
    CheckedSetting{"mb_spec.n_mbs", "1|null",
                   "minimum number of micro-batches; modeled only without max_tokens_per_mb"},
    CheckedSetting{"mb_spec.n_mbs_divisor", "1", "rounding the number of micro-batches is not modeled"},
    CheckedSetting{"mb_spec.granularity", "1", "sequences stay in groups; modeled as independent"},
    CheckedSetting{"mb_spec.packing_algorithm", "ffd", "modeled as packed by first-fit decreasing"},
    CheckedSetting{"pad_to_maximum", "false", "micro-batches are padded to their limit; the real run is slower"},
    CheckedSetting{"enable_tree_training", "false", "shared prefixes are computed once; the real run is faster"},
    CheckedSetting{"scheduling_strategy.fork", "true",
                   "runs in the process of another engine; modeled as a separate process"},
    CheckedSetting{"_version", "v1", "the training gateway is not modeled"},
    CheckedSetting{"peft_type", "lora", "modeled as LoRA"},
    CheckedSetting{"target_modules", "[]|[all-linear]|all-linear", "modeled with adapters at all projections"},
};

constexpr std::array fsdp_settings{
    CheckedSetting{"attn_impl", "flash_attention_2|flash_attention_3",
                   "modeled as flash attention; the real run is slower and uses more memory"},
    CheckedSetting{"use_kernels", "false", "alternative kernels are not modeled"},
    CheckedSetting{"grad_reduce_dtype", "float32", "gradients are reduced in another type; modeled in fp32"},
    CheckedSetting{"fsdp.wrap_policy", "null", "another wrapping policy; modeled as weights gathered layer by layer"},
    CheckedSetting{
        "fsdp.offload_params", "false",
        "weights and gradients move between host and GPU layer by layer; only the optimizer is modeled on the host"},
    CheckedSetting{"fsdp.per_layer_optim_step", "false",
                   "optimizer states are fetched layer by layer for a step on the GPU; modeled as a step on the host"},
    CheckedSetting{"fsdp.optim_step_prefetch_layers", "1", "the number of prefetched layers is not modeled"},
    CheckedSetting{"fsdp.shard_vision_across_sp", "false", "the vision part is not modeled"},
};

constexpr std::array archon_settings{
    CheckedSetting{"attn_type", "varlen", "modeled as flash attention"},
    CheckedSetting{
        "offload_params", "false",
        "weights and gradients move between host and GPU layer by layer; only the optimizer is modeled on the host"},
    CheckedSetting{"enable_compile", "false", "compiled layers; the real run is faster"},
    CheckedSetting{"pp_schedule", "1F1B|Interleaved1F1B",
                   "modeled as interleaved 1F1B; the real run has smaller bubbles"},
    CheckedSetting{"pp_first_stage_less_layers", "0", "the first stage has fewer layers; modeled as even stages"},
    CheckedSetting{"pp_last_stage_less_layers", "0", "the last stage has fewer layers; modeled as even stages"},
    CheckedSetting{"reshard_after_forward_policy", "default",
                   "modeled as default: the backward pass gathers weights again, except with pipelines"},
    CheckedSetting{"fp8_config.mode", "disabled", "training in fp8; modeled as bf16, but the real run is faster"},
    CheckedSetting{"use_deterministic_algorithms", "false", "deterministic kernels; the real run is slower"},
};

/// Settings of Archon's recomputation.
constexpr std::array archon_recomputation{
    CheckedSetting{"ac_mode", "none|full|selective", "modeled as selective"},
    CheckedSetting{"selective_ac_option", "op",
                   "some layers are recomputed completely; modeled as recomputing selected operators of all layers"},
    CheckedSetting{"ac_preserve_rng_state", "false", "saving the state of random numbers is not modeled"},
};

constexpr std::array megatron_settings{
    CheckedSetting{"wrap_with_ddp", "true", "modeled with Megatron's data parallelism"},
    CheckedSetting{"use_torch_fsdp2", "false", "sharding of weights and gradients is not modeled"},
    CheckedSetting{"use_custom_fsdp", "false", "sharding of weights and gradients is not modeled"},
    CheckedSetting{
        "ddp.overlap_grad_reduce", "true",
        "gradients are reduced after the backward pass; modeled as overlapping it, but the real run is slower"},
    CheckedSetting{
        "ddp.overlap_param_gather", "true",
        "weights are gathered before the forward pass; modeled as overlapping it, but the real run is slower"},
    CheckedSetting{"ddp.bucket_size", "null", "the size of gradient messages is not modeled"},
    CheckedSetting{"ddp.fp8_param_gather", "false", "weights are gathered in fp8; modeled in bf16"},
    CheckedSetting{"overlap_param_gather_with_optimizer_step", "false",
                   "the weight gather overlaps the optimizer step; the real run is faster"},
    CheckedSetting{"main_grads_dtype", "float32", "gradients are modeled in the type in which they are reduced"},
    CheckedSetting{"main_params_dtype", "float32", "the type of master weights is not modeled"},
    CheckedSetting{"use_deterministic_algorithms", "false", "deterministic kernels; the real run is slower"},
    CheckedSetting{"moe_shared_expert_overlap", "false",
                   "shared experts are computed during the exchange of tokens; the real run is faster"},
    CheckedSetting{"moe_enable_deepep", "false", "DeepEP sends the experts' tokens; the real run is faster"},
    CheckedSetting{"moe_token_dispatcher_type", "alltoall", "modeled as all-to-all"},
    CheckedSetting{"moe_permute_fusion", "false", "fused permutation; the real run is faster"},
    CheckedSetting{"fp8_config", "null", "training in fp8; modeled as bf16, but the real run is faster"},
};

/// Settings of Megatron's recomputation.
constexpr std::array megatron_recomputation{
    CheckedSetting{"recompute_method", "uniform|null", "modeled as recomputing all layers"},
    CheckedSetting{"recompute_num_layers", "1|null",
                   "layers are recomputed in groups; modeled as recomputing each layer separately"},
    CheckedSetting{"distribute_saved_activations", "null|false",
                   "layer inputs are sharded over the tensor ranks; modeled as unsharded"},
};

/// Engine settings that are read or affect neither time nor memory. All others are passed through.
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

/// Sections that affect neither time nor memory, or that are read elsewhere.
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
/// Sections in `known_parts` that later versions removed.
constexpr std::array<std::string_view, 2> gone_parts{"launcher", "async_training"};

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Reports settings of the file below `key` that AReaL does not have.
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
      run.ignored.push_back({below, fmt::format("{} has no such setting and rejects it", areal_version), value.place});
  }
}

/// Reports engine settings of the file that are not in `known` and differ from the default.
base::Status add_handed_on(const syntax::SettingTree& tree, const std::string& section,
                           std::span<const std::string_view> known, const syntax::Setting& defaults, ImportedRun& run) {
  const syntax::Setting* const written = find_setting(tree.root, section);
  if (written == nullptr) return {};
  for (const auto& [name, value] : written->members) {
    const syntax::Setting* const usual = find_member(defaults, name);
    if (value.place.line == 0 || usual == nullptr || is_among(known, name)) continue;
    const std::string key = fmt::format("{}.{}", section, name);
    DOVETAIL_CHECK(check_known(tree, key, value));
    if (value_text(value) != value_text(*usual))
      run.not_modelled.push_back(
          {key, fmt::format("{}: passed on to the engine; its effect is not modeled", value_text(value)), value.place});
  }
  return {};
}

/// Reports an agent if the file configures one. No setting describes its turns.
void add_agent(const syntax::SettingTree& tree, const syntax::Setting& defaults, ImportedRun& run) {
  const syntax::Setting* const agent = find_setting(tree.root, "rollout.agent");
  if (agent == nullptr) return;
  const bool configured = std::any_of(agent->members.begin(), agent->members.end(), [&](const auto& member) {
    const syntax::Setting* const usual = find_member(defaults, member.first);
    return member.first != "scheduling_spec" && member.first != "admin_api_key" && usual != nullptr &&
           value_text(member.second) != value_text(*usual);
  });
  if (configured)
    run.not_modelled.push_back(
        {"rollout.agent", "multi-turn rollouts of an agent; modeled as one response without waiting", agent->place});
}

/// Reports settings of a role that have no effect: settings for other backends, and for recomputation if it is off.
void add_ignored_settings(const syntax::SettingTree& tree, const ArealEngine& engine, bool recomputes,
                          ImportedRun& run) {
  const auto add = [&](const std::string& key, const std::string& why) {
    if (const syntax::Place place = place_of(tree, key); place.line > 0) run.ignored.push_back({key, why, place});
  };
  for (const std::string backend : {"fsdp", "archon", "megatron"})
    if (backend != engine.allocation.backend)
      add(fmt::format("{}.{}", engine.role, backend),
          fmt::format("no effect: the backend of the engine is {}", engine.allocation.backend));
  if (recomputes) return;
  for (const char* const name :
       {"archon.ac_mode", "archon.selective_ac_option", "megatron.recompute_granularity", "megatron.recompute_method",
        "megatron.recompute_num_layers", "megatron.recompute_modules"})
    if (std::string_view(name).starts_with(engine.allocation.backend))
      add(fmt::format("{}.{}", engine.role, name), "no effect without gradient_checkpointing");
}

/// Returns the state types with Megatron. Gradients are accumulated in the type in which they are reduced. The
/// precision-aware optimizer keeps only the part of the master weights that bf16 loses. adam_bf16 is this optimizer
/// with moments in bf16. On the host, all states are in fp32.
base::Result<RoleTypes> megatron_types(const syntax::SettingTree& tree, const ArealEngine& engine, bool is_adam_bf16) {
  RoleTypes role;
  const std::string keys = engine.role + ".megatron.";
  const auto otherwise = [&](const std::string& key, const char* what) {
    role.otherwise.push_back({key, what, place_of(tree, key)});
  };
  DOVETAIL_TRY(const auto in_fp32, optional_flag(tree, keys + "ddp.grad_reduce_in_fp32"));
  if (!in_fp32.value_or(true)) {
    role.types.gradient_type = plan::StateType::bf16;
    otherwise(keys + "ddp.grad_reduce_in_fp32",
              "false: gradients in bf16; modeled in fp32, but the real run uses less memory");
  }
  DOVETAIL_TRY(const bool on_host, areal_optimizer_on_host(tree, engine));
  DOVETAIL_TRY(const auto aware, optional_flag(tree, keys + "use_precision_aware_optimizer"));
  if (on_host || (!aware.value_or(false) && !is_adam_bf16)) return role;
  role.types.master_type = plan::MasterType::remainder;
  DOVETAIL_TRY(const auto first_setting, optional_text(tree, keys + "exp_avg_dtype"));
  DOVETAIL_TRY(const auto second_setting, optional_text(tree, keys + "exp_avg_sq_dtype"));
  const std::string first = first_setting.value_or("float32");
  const std::string second = second_setting.value_or("float32");
  const auto moments = is_adam_bf16 ? plan::StateType::bf16 : state_type(first);
  if (moments && moments != plan::StateType::fp32 && (is_adam_bf16 || first == second))
    role.types.moment_type = *moments;
  const std::string key = is_adam_bf16 ? engine.role + ".optimizer.type" : keys + "use_precision_aware_optimizer";
  otherwise(key, "optimizer states are not all in fp32; modeled in fp32, but the real run uses less memory");
  return role;
}

/// Reports moment types that jobs cannot describe.
base::Status add_unmodeled_moments(const syntax::SettingTree& tree, const std::string& keys, ImportedRun& run) {
  DOVETAIL_TRY(const auto first_setting, optional_text(tree, keys + "exp_avg_dtype"));
  DOVETAIL_TRY(const auto second_setting, optional_text(tree, keys + "exp_avg_sq_dtype"));
  const std::string first = first_setting.value_or("float32");
  const std::string second = second_setting.value_or("float32");
  const std::string key = keys + (state_type(first) == plan::StateType::fp32 ? "exp_avg_sq_dtype" : "exp_avg_dtype");
  if (first != second || !state_type(first))
    run.not_modelled.push_back({key,
                                fmt::format("{}: moments are modeled in fp32; the real run uses less memory",
                                            first == second ? first : second),
                                place_of(tree, key)});
  return {};
}

/// Adds the state types of a trained role to `roles`, and reports types that are not modeled.
base::Status add_unmodeled_types(const syntax::SettingTree& tree, const ArealEngine& engine, bool trains,
                                 std::vector<RoleTypes>& roles, ImportedRun& run) {
  const std::string key = engine.role + ".dtype";
  DOVETAIL_TRY(const std::string type, text_at(tree, key));
  const auto add = [&](const std::string& at, const std::string& what) {
    run.not_modelled.push_back({at, what, place_of(tree, at)});
  };
  const bool is_short = type == "bfloat16" || type == "float16";
  DOVETAIL_TRY(const bool adapters, flag_at(tree, engine.role + ".use_lora"));
  if (engine.allocation.backend == "megatron") {
    if (type != "bfloat16") add(key, fmt::format("{}: modeled as bf16", type));
  } else if (!is_short) {
    add(key,
        fmt::format("{}: computes in fp32; modeled as bf16, but the real run is slower and uses more memory", type));
  }
  if (!trains) return {};
  const std::string optimizer_key = engine.role + ".optimizer.type";
  DOVETAIL_TRY(const auto optimizer, optional_text(tree, optimizer_key));
  if (engine.allocation.backend == "megatron") {
    DOVETAIL_TRY(roles.emplace_back(), megatron_types(tree, engine, optimizer.value_or("adam") == "adam_bf16"));
    if (optimizer.value_or("adam") == "adam")
      DOVETAIL_CHECK(add_unmodeled_moments(tree, engine.role + ".megatron.", run));
  } else if (is_short) {
    // FSDP keeps gradients and moments in the type of the weights.
    RoleTypes& role = roles.emplace_back();
    const plan::StateType kept = state_type(type).value();
    role.types.weight_type = role.types.gradient_type = role.types.moment_type = kept;
    role.otherwise.push_back({key,
                              fmt::format("{}: {} are in 16 bits (8 bytes per parameter in total); modeled in 32 bits, "
                                          "but the real run uses half as much memory for them",
                                          type, adapters ? "adapters" : "weights, gradients and moments"),
                              place_of(tree, key)});
  } else {
    roles.emplace_back();
  }
  if (optimizer.value_or("adam") == "sgd") add(optimizer_key, "sgd: modeled as Adam, whose moments use more memory");
  if (optimizer.value_or("adam") == "adam_bf16" && engine.allocation.backend != "megatron")
    add(optimizer_key, "adam_bf16: moments are modeled in the type of the weights");
  return {};
}

base::Status add_unmodeled_role(const syntax::SettingTree& tree, const ArealEngine& engine,
                                std::vector<RoleTypes>& roles, ImportedRun& run) {
  const std::string keys = engine.role + ".";
  const std::string& backend = engine.allocation.backend;
  const bool trains = engine.role != "ref";
  DOVETAIL_CHECK(add_unmodeled(tree, keys, role_settings, run));
  DOVETAIL_CHECK(add_unmodeled_types(tree, engine, trains, roles, run));
  DOVETAIL_TRY(const bool recomputes, flag_at(tree, keys + "gradient_checkpointing"));
  add_ignored_settings(tree, engine, recomputes, run);
  if (backend == "fsdp") return add_unmodeled(tree, keys, fsdp_settings, run);
  if (backend == "archon") {
    const auto pipeline = [](const CheckedSetting& each) { return each.key.starts_with("pp_"); };
    for (const CheckedSetting& each : archon_settings)
      if (engine.allocation.pipeline > 1 || !pipeline(each))
        DOVETAIL_CHECK(add_unmodeled(tree, keys + "archon.", std::span(&each, 1), run));
    if (recomputes && trains) DOVETAIL_CHECK(add_unmodeled(tree, keys + "archon.", archon_recomputation, run));
    return {};
  }
  const std::string megatron_keys = keys + "megatron.";
  for (const CheckedSetting& each : megatron_settings)
    // Only trained roles exchange gradients and have an optimizer.
    if (trains || (!each.key.starts_with("ddp.") && !each.key.starts_with("overlap_")))
      DOVETAIL_CHECK(add_unmodeled(tree, megatron_keys, std::span(&each, 1), run));
  if (!recomputes || !trains) return {};
  DOVETAIL_CHECK(add_unmodeled(tree, megatron_keys, megatron_recomputation, run));
  return add_unmodeled_modules(tree, megatron_keys + "recompute_modules", run);
}

base::Status add_unmodeled_rollout(const syntax::SettingTree& tree, const ArealEngine& rollout, ImportedRun& run) {
  DOVETAIL_TRY(const syntax::Setting defaults, areal_defaults());
  const bool sglang = rollout.allocation.backend == "sglang";
  const std::string section = sglang ? "sglang" : "vllm";
  const std::string other = sglang ? "vllm" : "sglang";
  if (const syntax::Place place = place_of(tree, other); place.line > 0)
    run.ignored.push_back({other, fmt::format("no effect: the rollout runs {}", section), place});
  if (sglang) run.software.engine = plan::EngineKind::sglang;
  if (sglang)
    run.not_modelled.push_back({rollout.key, "sglang: scheduling is modeled as in vLLM", place_of(tree, rollout.key)});
  const std::span<const std::string_view> known =
      sglang ? std::span<const std::string_view>(known_of_sglang) : std::span<const std::string_view>(known_of_vllm);
  DOVETAIL_CHECK(add_handed_on(tree, section, known, *find_member(defaults, section), run));
  if (sglang) DOVETAIL_CHECK(take_key_values(tree, "sglang.kv_cache_dtype", run));
  add_agent(tree, *find_setting(defaults, "rollout.agent"), run);
  DOVETAIL_TRY(const bool adapters, flag_at(tree, "actor.use_lora"));
  if (adapters)
    run.not_modelled.push_back({"actor.use_lora",
                                "the rollout keeps adapters separate from its weights; modeled as merged",
                                place_of(tree, "actor.use_lora")});
  const std::string consumed_key = "rollout.consumer_batch_size";
  DOVETAIL_TRY(const std::int64_t consumed, count_at(tree, consumed_key));
  if (consumed > run.prompts)
    run.not_modelled.push_back(
        {consumed_key,
         fmt::format(
             "{}: each training step lets the rollout start more prompts than the {} of a batch; modeled as one batch "
             "per step",
             consumed, run.prompts),
         place_of(tree, consumed_key)});
  return {};
}

/// Reports settings of the critic and the reference that differ from the actor's, because a job has one value for all
/// roles.
base::Status add_differences(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines,
                             ImportedRun& run) {
  DOVETAIL_TRY(const std::string actor_path, text_at(tree, "actor.path"));
  DOVETAIL_TRY(const std::int64_t actor_parts, count_at(tree, "actor.ppo_n_minibatches"));
  const std::string& actor_backend = areal_engine_of(engines, "actor").allocation.backend;
  for (const ArealEngine& engine : engines) {
    if (engine.role != "ref" && engine.role != "critic") continue;
    if (engine.allocation.backend != actor_backend)
      run.not_modelled.push_back({engine.key,
                                  fmt::format("{}: memory is modeled as for the actor's backend ({})",
                                              engine.allocation.backend, actor_backend),
                                  place_of(tree, engine.key)});
    if (engine.role == "ref") {
      DOVETAIL_TRY(const std::string path, text_at(tree, "ref.path"));
      if (path != actor_path)
        run.not_modelled.push_back(
            {"ref.path", fmt::format("{}: modeled with the shape of the actor", path), place_of(tree, "ref.path")});
      continue;
    }
    const std::string key = "critic.ppo_n_minibatches";
    DOVETAIL_TRY(const std::int64_t parts, count_at(tree, key));
    const std::int64_t samples = run.prompts * run.samples_per_prompt;
    if (parts != actor_parts)
      take_critic_batch(
          samples % parts == 0 ? samples / parts : 0,
          {key, fmt::format("{}: modeled with the actor's number of mini-batches ({})", parts, actor_parts),
           place_of(tree, key)},
          run);
  }
  return {};
}

/// Reports behavior of AReaL that depends on several settings.
void add_facts(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines, const llm::Transformer& model,
               ImportedRun& run) {
  if (areal_is_colocated(engines) && run.steps_off_policy > 0)
    run.not_modelled.push_back({"rollout.max_head_offpolicyness",
                                "unfinished sequences wait while the actor trains on their GPUs; modeled as "
                                "independent batches",
                                place_of(tree, "rollout.max_head_offpolicyness")});
  for (const ArealEngine& engine : engines)
    if (!model.experts && (engine.allocation.expert > 1 || engine.allocation.expert_tensor > 1))
      run.ignored.push_back({engine.key, "no effect: the model has no experts", place_of(tree, engine.key)});
  if (!run.reference && areal_has_role(tree, "ref"))
    run.ignored.push_back({"ref", "no effect: a reference needs actor.kl_ctl above 0", place_of(tree, "ref")});
}

}  // namespace

base::Status add_areal_unmodeled(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines,
                                 const llm::Transformer& model, ImportedRun& run) {
  DOVETAIL_TRY(const syntax::Setting defaults, areal_defaults());
  DOVETAIL_CHECK(add_unmodeled(tree, "", whole_settings, run));
  std::vector<RoleTypes> types;
  for (const ArealEngine& engine : engines)
    if (engine.role != "rollout") DOVETAIL_CHECK(add_unmodeled_role(tree, engine, types, run));
  take_types(types, run);
  DOVETAIL_CHECK(add_unmodeled_rollout(tree, areal_engine_of(engines, "rollout"), run));
  DOVETAIL_CHECK(add_differences(tree, engines, run));
  for (const auto& [name, value] : tree.root.members) {
    if (is_among(gone_parts, name))
      run.ignored.push_back({name, "not read: later versions of AReaL removed it", value.place});
    else if (!is_among(known_parts, name) && value.place.line > 0)
      run.not_modelled.push_back({name, "settings of the user's program are not modeled", value.place});
    const bool listed = name == "gconfig" || name == "rollout" || name == "actor" || name == "critic" ||
                        name == "sglang" || name == "vllm" || name == "ref";
    if (!listed || (name == "ref" && !run.reference)) continue;
    add_unknown(name, value, *find_member(defaults, name == "ref" ? "actor" : name), run);
  }
  add_facts(tree, engines, model, run);
  return {};
}

}  // namespace dovetail::trainers
