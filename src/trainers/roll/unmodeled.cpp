#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainers/import/layouts.h"
#include "trainers/import/role_training.h"
#include "trainers/import/roles.h"
#include "trainers/import/settings.h"
#include "trainers/roll/layouts.h"
#include "trainers/roll/roll.h"

namespace dovetail::trainers {
namespace {

constexpr std::array checked_of_pipeline{
    CheckedSetting{"is_use_additional_prompts", "false",
                   "responses that are generated but not trained on are not modeled; the real run generates longer"},
    CheckedSetting{"generate_opt_level", "1",
                   "responses are generated in complete batches; modeled as scheduled one by one"},
    CheckedSetting{"critic_warmup", "0|0.0", "the first iterations do not train the actor; modeled as always trained"},
    CheckedSetting{"save_logging_board_dir", "null", "the extra computation of log-probabilities is not modeled"},
    CheckedSetting{"rollout_mock.enable", "false", "responses are written to or read from files; modeled as generated"},
    CheckedSetting{"transfer_backend.backend_name", "null",
                   "weights are sent differently; modeled as NCCL, or as a copy within the node"},
    CheckedSetting{"profiler_timeline", "false", "the profiler is on; the real run is slower"},
    CheckedSetting{"profiler_memory", "false", "the profiler is on; the real run is slower"},
    CheckedSetting{"actor_train.model_update_frequency", "1",
                   "only some iterations sync weights; modeled as a sync in every iteration"},
    CheckedSetting{"actor_infer.generating_args.num_beams", "1", "beam search; modeled as one sequence"},
    CheckedSetting{"actor_infer.model_args.dtype", "bf16|fp16", "modeled as bf16; the real run uses more memory"},
};

/// Settings of each role that trains or infers.
constexpr std::array checked_of_role{
    CheckedSetting{"model_args.dtype", "bf16", "modeled as bf16"},
    CheckedSetting{"model_args.freeze_module_prefix", "null",
                   "some weights are frozen; modeled as trained, and the vision part is not modeled"},
    CheckedSetting{"logits_in_fp32", "false",
                   "logits in fp32; modeled as bf16, but the real run uses more memory for logits"},
    CheckedSetting{"router_replay.mode", "disable", "reusing the rollout's expert choices in training is not modeled"},
    CheckedSetting{"mtp_training_mode", "disabled|null", "training of multi-token prediction layers is not modeled"},
};

constexpr std::array checked_of_megatron{
    CheckedSetting{"pipeline_model_parallel_layout", "null", "explicit stage layout; modeled as even stages"},
    CheckedSetting{"moe_grouped_gemm", "true|null",
                   "experts are computed one by one; modeled as grouped, but the real run is slower"},
    CheckedSetting{"moe_shared_expert_overlap", "false",
                   "shared experts are computed during the exchange of tokens; the real run is faster"},
    CheckedSetting{"moe_expert_capacity_factor", "null", "dropping tokens over the expert capacity is not modeled"},
    CheckedSetting{"cross_entropy_loss_fusion", "false",
                   "fused kernels compute log-probabilities; the real run uses less memory"},
    CheckedSetting{"apply_rope_fusion", "false", "the fused kernel is not modeled"},
    CheckedSetting{"bias_activation_fusion", "false", "the fused kernel is not modeled"},
    CheckedSetting{"transformer_impl", "transformer_engine|null", "modeled as Transformer Engine"},
    CheckedSetting{"cuda_graph_impl", "null", "training uses CUDA graphs; the real run is faster"},
    CheckedSetting{"fp8", "null", "training in fp8; modeled as bf16, but the real run is faster"},
    CheckedSetting{"fp8_recipe", "null", "training in fp8; modeled as bf16, but the real run is faster"},
    CheckedSetting{"fp8_param", "false", "weights in fp8; modeled as bf16, but the real run uses less memory"},
    CheckedSetting{"mtp_num_layers", "0|null",
                   "multi-token prediction layers are not modeled; the real run uses more memory"},
};
/// Settings of Megatron roles that train.
constexpr std::array checked_of_megatron_training{
    CheckedSetting{"recompute_method", "null|uniform", "modeled as recomputing each layer separately"},
    CheckedSetting{"recompute_num_layers", "null|1", "modeled as recomputing each layer separately"},
    CheckedSetting{"optimizer", "adam", "modeled as Adam, whose moments use more memory"},
    CheckedSetting{"ddp_bucket_size", "null", "the size of gradient messages is not modeled"},
    CheckedSetting{"use_batched_model_update", "true|null", "weights are sent one by one; the real run is slower"},
};
/// Other members of the same map. They are read for layouts, or affect neither time nor memory.
constexpr std::array<std::string_view, 33> known_of_megatron{"tensor_model_parallel_size",
                                                             "moe_layer_recompute",
                                                             "pipeline_model_parallel_size",
                                                             "context_parallel_size",
                                                             "virtual_pipeline_model_parallel_size",
                                                             "expert_model_parallel_size",
                                                             "expert_tensor_parallel_size",
                                                             "sequence_parallel",
                                                             "use_distributed_optimizer",
                                                             "recompute_granularity",
                                                             "recompute_modules",
                                                             "account_for_embedding_in_pipeline_split",
                                                             "account_for_loss_in_pipeline_split",
                                                             "num_layers_in_first_pipeline_stage",
                                                             "num_layers_in_last_pipeline_stage",
                                                             "overlap_param_gather",
                                                             "overlap_grad_reduce",
                                                             "moe_token_dispatcher_type",
                                                             "optimizer_cpu_offload",
                                                             "optimizer_offload_fraction",
                                                             "accumulate_allreduce_grads_in_fp32",
                                                             "bf16",
                                                             "moe_aux_loss_coeff",
                                                             "moe_router_dtype",
                                                             "check_for_nan_in_loss_and_grad",
                                                             "calculate_per_token_loss",
                                                             "distrib_optim_fully_reshardable",
                                                             "ckpt_format",
                                                             "save_hf_model",
                                                             "lr_scheduler_type",
                                                             "lr_scheduler_kwargs",
                                                             "delay_grad_reduce",
                                                             "variable_seq_lengths"};

constexpr std::array checked_of_fsdp2{
    CheckedSetting{"apply_tiled_mlp", "false", "tiled MLP; the real run uses less memory for activations"},
    CheckedSetting{"moe_use_grouped_mm", "true",
                   "experts are computed one by one; modeled as grouped, but the real run is slower"},
    CheckedSetting{"efsdp_size", "1",
                   "experts are sharded within groups; modeled as sharded over all GPUs that share them"},
};
/// Settings of FSDP2 roles that train.
constexpr std::array checked_of_fsdp2_training{
    CheckedSetting{"reduce_dtype", "fp32|float32", "gradients are reduced in another type; modeled in fp32"},
    CheckedSetting{"reduce_scatter_during_grad_accumulation", "true",
                   "gradients stay unsharded until the step; modeled as sharded, but the real run uses more memory"},
};
constexpr std::array<std::string_view, 9> known_of_fsdp2{
    "fsdp_size",       "reshard_after_forward", "offload_policy", "ep_size",         "param_dtype",
    "async_save_ckpt", "save_only_model",       "model_type",     "tiled_num_shards"};

constexpr std::array checked_of_vllm{
    CheckedSetting{"block_size", "16", "KV cache block size; modeled as 16 tokens"},
};
constexpr std::array<std::string_view, 20> roll_vllm_keys{"tensor_parallel_size",
                                                          "quantization",
                                                          "kv_cache_dtype",
                                                          "sleep_level",
                                                          "pipeline_parallel_size",
                                                          "data_parallel_size",
                                                          "gpu_memory_utilization",
                                                          "enforce_eager",
                                                          "max_num_seqs",
                                                          "max_num_batched_tokens",
                                                          "enable_chunked_prefill",
                                                          "enable_expert_parallel",
                                                          "enable_prefix_caching",
                                                          "max_model_len",
                                                          "load_format",
                                                          "VLLM_USE_V1",
                                                          "disable_log_stats",
                                                          "disable_mm_preprocessor_cache",
                                                          "distributed_executor_backend",
                                                          "seed"};

constexpr std::array checked_of_sglang{
    CheckedSetting{"enable_memory_saver", "true",
                   "the engine does not sleep; modeled as if it did, but the real run uses more memory"},
    CheckedSetting{"dp_size", "1", "modeled as independent instances"},
};
constexpr std::array<std::string_view, 13> roll_sglang_keys{"quantization",
                                                            "kv_cache_dtype",
                                                            "disable_radix_cache",
                                                            "tensor_parallel_size",
                                                            "pipeline_parallel_size",
                                                            "mem_fraction_static",
                                                            "max_running_requests",
                                                            "ep_size",
                                                            "disable_cuda_graph",
                                                            "load_format",
                                                            "log_level",
                                                            "log_level_http",
                                                            "context_length"};

/// Settings that are modeled only for the engine that generates.
constexpr std::array checked_of_judges{
    CheckedSetting{"quantization", "null", "quantized weights; modeled as bf16"},
    CheckedSetting{"kv_cache_dtype", "null|auto", "quantized KV cache; modeled as bf16"},
};

void add_not_modelled(const syntax::SettingTree& tree, const std::string& key, std::string what, ImportedRun& run) {
  run.not_modelled.push_back({key, std::move(what), place_of(tree, key)});
}

/// Reports settings of the map at `keys`: those in `table`, those in `of_training` if the role trains, and those not in
/// `known`, which ROLL passes through.
base::Status add_unmodeled_strategy(const syntax::SettingTree& tree, const std::string& keys,
                                    std::span<const CheckedSetting> table, std::span<const std::string_view> known,
                                    ImportedRun& run, std::span<const CheckedSetting> of_training = {},
                                    bool trains = false) {
  DOVETAIL_CHECK(add_unmodeled(tree, keys + ".", table, run));
  if (trains) DOVETAIL_CHECK(add_unmodeled(tree, keys + ".", of_training, run));
  std::vector<std::string_view> read(known.begin(), known.end());
  for (const std::span<const CheckedSetting> each : {table, of_training})
    for (const CheckedSetting& checked : each) read.push_back(checked.key);
  add_passed_on(tree, keys, read, run);
  return {};
}

void add_ignored(const syntax::SettingTree& tree, const std::string& key, std::string what, ImportedRun& run) {
  const syntax::Setting* const setting = find_setting(tree.root, key);
  if (setting != nullptr && setting->kind != syntax::Setting::Kind::null)
    run.ignored.push_back({key, std::move(what), setting->place});
}

/// Returns whether any task uses expert parallelism.
bool has_expert_groups(const ImportedRun& run) {
  return std::any_of(run.tasks.begin(), run.tasks.end(),
                     [](const ImportedTask& task) { return task.planned.layout.expert > 1; });
}

base::Status add_unmodeled_megatron(const syntax::SettingTree& tree, const std::string& role, bool trains,
                                    ImportedRun& run) {
  const std::string keys = roll_strategy_key(role);
  DOVETAIL_CHECK(add_unmodeled_strategy(tree, keys, checked_of_megatron, known_of_megatron, run,
                                        checked_of_megatron_training, trains));
  for (const char* const name : {".optimizer_cpu_offload", ".optimizer_offload_fraction"})
    add_ignored(tree, keys + name, "no effect: ROLL does not pass it to the optimizer", run);
  for (const char* const name : {".model_args.disable_gradient_checkpointing", ".model_args.attn_implementation"})
    add_ignored(tree, role + name, "no effect with Megatron's strategies", run);
  const std::string dispatcher_key = keys + ".moe_token_dispatcher_type";
  DOVETAIL_TRY(const auto dispatcher, optional_text(tree, dispatcher_key));
  if (dispatcher ? *dispatcher != "alltoall" : has_expert_groups(run))
    add_not_modelled(
        tree, dispatcher_key,
        fmt::format("{}: the experts' tokens are gathered on all ranks; modeled as all-to-all, but the real run is "
                    "slower and uses more memory",
                    dispatcher.value_or("not given")),
        run);
  if (!trains) return {};
  DOVETAIL_TRY(const auto granularity, optional_text(tree, keys + ".recompute_granularity"));
  const std::string modules_key = keys + ".recompute_modules";
  if (const syntax::Setting* const modules = find_setting(tree.root, modules_key); modules != nullptr) {
    DOVETAIL_TRY(const bool experts, roll_flag(tree, keys + ".moe_layer_recompute"));
    if (granularity != "selective" && !experts)
      add_ignored(tree, modules_key,
                  "no effect unless recompute_granularity is selective or moe_layer_recompute is true", run);
    else
      DOVETAIL_CHECK(add_unmodeled_modules(tree, modules_key, run));
  }
  DOVETAIL_TRY(const bool overlaps, roll_flag(tree, keys + ".overlap_grad_reduce"));
  if (!overlaps)
    add_not_modelled(
        tree, keys + ".overlap_grad_reduce",
        "false: gradients are reduced after the backward pass; modeled as overlapping it, but the real run is slower",
        run);
  DOVETAIL_TRY(const auto in_fp32, optional_flag(tree, keys + ".accumulate_allreduce_grads_in_fp32"));
  if (in_fp32 == false)
    add_ignored(tree, keys + ".accumulate_allreduce_grads_in_fp32", "no effect: always true for models in bf16", run);
  add_not_modelled(tree, role + ".strategy_args.strategy_name",
                   "moments are on the host except during each optimizer step; modeled as on the GPUs "
                   "throughout training, but the real run uses less memory and transfers more",
                   run);
  return {};
}

base::Status add_unmodeled_fsdp2(const syntax::SettingTree& tree, const std::string& role, bool trains, int devices,
                                 ImportedRun& run) {
  const std::string keys = roll_strategy_key(role);
  DOVETAIL_CHECK(
      add_unmodeled_strategy(tree, keys, checked_of_fsdp2, known_of_fsdp2, run, checked_of_fsdp2_training, trains));
  const std::string type_key = keys + ".param_dtype";
  DOVETAIL_TRY(const auto type, optional_text(tree, type_key));
  const bool is_unsupported = type && is_one_of(*type, "fp32|float32");
  if (!trains && is_unsupported)
    add_not_modelled(tree, type_key,
                     *type + ": weights are not in bf16; modeled in bf16, but the real run uses more memory", run);
  DOVETAIL_TRY(const std::int64_t size, roll_count(tree, keys + ".fsdp_size", 1));
  if (!trains && size > 1 && size < devices)
    add_not_modelled(tree, keys + ".fsdp_size",
                     fmt::format("{}: inference has separate shard groups; modeled with the actor's groups", size),
                     run);
  DOVETAIL_TRY(const bool on_host, roll_flag(tree, keys + ".offload_policy"));
  if (on_host)
    add_not_modelled(tree, keys + ".offload_policy",
                     "true: weights and gradients move between host and GPU layer by layer; only the optimizer is "
                     "modeled on the host",
                     run);
  const std::string attention_key = role + ".model_args.attn_implementation";
  DOVETAIL_TRY(const auto attention, optional_text(tree, attention_key));
  if (!attention || !is_one_of(*attention, "fa2|flash_attention_2"))
    add_not_modelled(
        tree, attention_key,
        attention.value_or("not given") + ": modeled as flash attention; the real run is slower and uses more memory",
        run);
  DOVETAIL_TRY(const std::int64_t ulysses, roll_count(tree, role + ".model_args.ulysses_size", 1));
  if (ulysses > 1)
    add_not_modelled(
        tree, role + ".model_args.ulysses_size",
        fmt::format("{}: Ulysses exchanges heads instead of keys and values; modeled as context parallelism", ulysses),
        run);
  for (const char* const name :
       {".use_dynamic_batching_in_train", ".use_dynamic_batching_in_infer", ".use_sequence_packing"}) {
    DOVETAIL_TRY(const bool on, roll_flag(tree, role + name));
    if (on)
      add_not_modelled(tree, role + name,
                       "true: no effect with FSDP; modeled as micro-batches of a fixed number of sequences", run);
  }
  return {};
}

/// Reports micro-batch settings of a role that have no effect or are not modeled.
base::Status add_unmodeled_roll_cut(const syntax::SettingTree& tree, const std::string& role, RollUse use,
                                    bool in_training, ImportedRun& run) {
  DOVETAIL_TRY(const RollCut cut, roll_cut(tree, role, use, in_training));
  const bool packs = cut == RollCut::packed || cut == RollCut::balanced;
  const std::string round_key =
      role + (in_training ? ".sequence_length_round_in_train" : ".sequence_length_round_in_infer");
  const std::string budget_key = roll_budget_key(role, RollCut::dynamic, in_training);
  if (cut == RollCut::dynamic) {
    DOVETAIL_TRY(const std::int64_t round, roll_count(tree, round_key, 4));
    if (round != 4)
      add_not_modelled(tree, round_key,
                       fmt::format("{}: lengths are rounded up to a multiple of this; modeled without rounding", round),
                       run);
  } else {
    add_ignored(tree, round_key, "no effect without dynamic batches", run);
    add_ignored(tree, budget_key, "no effect without dynamic batches", run);
  }
  if (cut == RollCut::balanced) {
    const std::string key = role + (in_training ? ".sequence_packing_args.min_num_micro_batches_train"
                                                : ".sequence_packing_args.min_num_micro_batches_forward");
    DOVETAIL_TRY(const std::int64_t fewest, roll_count(tree, key, 1));
    if (fewest > 1)
      add_not_modelled(
          tree, key,
          fmt::format("{}: minimum number of micro-batches; modeled with the fewest that the token budget allows",
                      fewest),
          run);
  }
  if (cut == RollCut::sequences && (in_training || use == RollUse::passes))
    add_not_modelled(tree, role + ".use_sequence_packing",
                     "off: sequences are padded to the caps of prompt and response; modeled with less or no padding",
                     run);
  if (packs != run.packing)
    add_not_modelled(tree, role + ".use_sequence_packing",
                     fmt::format("{} of {} are {}packed; modeled like the actor's training",
                                 in_training ? "training batches" : "inference batches", role, packs ? "" : "not "),
                     run);
  return {};
}

base::Status add_unmodeled_roll_role(const syntax::SettingTree& tree, const std::string& role, RollUse use, int devices,
                                     ImportedRun& run) {
  DOVETAIL_CHECK(add_unmodeled(tree, role + ".", checked_of_role, run));
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, role, use));
  const bool trains = use == RollUse::trains;
  if (backend == RollBackend::megatron) DOVETAIL_CHECK(add_unmodeled_megatron(tree, role, trains, run));
  if (backend == RollBackend::fsdp2) DOVETAIL_CHECK(add_unmodeled_fsdp2(tree, role, trains, devices, run));
  if (backend == RollBackend::deepspeed)
    add_not_modelled(tree, role + ".strategy_args.strategy_name",
                     "removed from ROLL in 2026; modeled as in earlier versions", run);
  DOVETAIL_TRY(const RollBackend actors, roll_backend(tree, "actor_train", RollUse::trains));
  if (backend != actors)
    add_not_modelled(tree, role + ".strategy_args.strategy_name",
                     "differs from the actor's strategy; memory is modeled as with the actor's", run);
  DOVETAIL_CHECK(add_unmodeled_roll_cut(tree, role, use, false, run));
  if (trains) DOVETAIL_CHECK(add_unmodeled_roll_cut(tree, role, use, true, run));
  if (use != RollUse::generates && backend != RollBackend::hugging_face) {
    DOVETAIL_TRY(const std::int64_t worker, roll_count(tree, role + ".num_gpus_per_worker", 1));
    if (worker > 1) add_ignored(tree, role + ".num_gpus_per_worker", "no effect: always 1 with this strategy", run);
  }
  for (const char* const name : {".offload_nccl", ".model_args.flash_attn", ".use_remove_padding"}) {
    DOVETAIL_TRY(const auto value, optional_text(tree, role + name));
    if (value && *value != "false")
      add_ignored(tree, role + name, fmt::format("no effect in ROLL {}", roll_version), run);
  }
  return {};
}

base::Status add_unmodeled_roll_engine(const syntax::SettingTree& tree, const std::string& role, ImportedRun& run) {
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, role, RollUse::judges));
  const std::string keys = roll_strategy_key(role);
  if (backend == RollBackend::hugging_face) return {};
  if (role != "actor_infer") DOVETAIL_CHECK(add_unmodeled(tree, keys + ".", checked_of_judges, run));
  if (backend == RollBackend::sglang) {
    DOVETAIL_CHECK(add_unmodeled_strategy(tree, keys, checked_of_sglang, roll_sglang_keys, run));
    return {};
  }
  DOVETAIL_CHECK(add_unmodeled_strategy(tree, keys, checked_of_vllm, roll_vllm_keys, run));
  const std::string worker_key = role + ".num_gpus_per_worker";
  DOVETAIL_TRY(const auto worker, optional_integer(tree, worker_key));
  DOVETAIL_TRY(const std::int64_t tensor, roll_count(tree, keys + ".tensor_parallel_size", 1));
  DOVETAIL_TRY(const std::int64_t stages, roll_count(tree, keys + ".pipeline_parallel_size", 1));
  if (worker && *worker != tensor * stages)
    add_ignored(tree, worker_key, "no effect: vLLM's tensor_parallel_size x pipeline_parallel_size takes precedence",
                run);
  return {};
}

base::Status add_unmodeled_roll_generation(const syntax::SettingTree& tree, ImportedRun& run) {
  const std::string keys = roll_strategy_key("actor_infer");
  DOVETAIL_CHECK(add_unmodeled_roll_engine(tree, "actor_infer", run));
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, "actor_infer", RollUse::generates));
  const bool is_vllm = backend == RollBackend::vllm;
  const std::string both_key = keys + (is_vllm ? ".max_model_len" : ".context_length");
  DOVETAIL_TRY(const auto both, optional_integer(tree, both_key));
  if (both) take_sequence_cap(tree, both_key, *both, run);
  const std::string cache_key = keys + (is_vllm ? ".enable_prefix_caching" : ".disable_radix_cache");
  DOVETAIL_TRY(const auto caches, optional_flag(tree, cache_key));
  if (caches.value_or(is_vllm) != is_vllm && run.samples_per_prompt > 1)
    add_not_modelled(tree, cache_key,
                     fmt::format("{}: the prompt of a group is computed for each sample; modeled as computed once, but "
                                 "the real run is slower",
                                 !is_vllm),
                     run);
  if (backend == RollBackend::sglang) run.software.engine = plan::EngineKind::sglang;
  DOVETAIL_CHECK(take_engine_weights(tree, keys + ".quantization", run));
  DOVETAIL_CHECK(take_key_values(tree, keys + ".kv_cache_dtype", run));
  DOVETAIL_TRY(const auto level, optional_integer(tree, keys + ".sleep_level"));
  if (is_vllm && level.value_or(1) > 1) run.software.engine_sleep = plan::EngineSleep::discards;
  if (backend == RollBackend::sglang)
    add_not_modelled(tree, "actor_infer.strategy_args.strategy_name", "sglang: scheduling is modeled as in vLLM", run);
  DOVETAIL_TRY(const auto copies, optional_integer(tree, "actor_infer.generating_args.num_return_sequences"));
  if (copies && *copies != run.samples_per_prompt)
    add_ignored(tree, "actor_infer.generating_args.num_return_sequences",
                "no effect: num_return_sequences_in_group takes precedence", run);
  DOVETAIL_TRY(const auto tokens, optional_integer(tree, "actor_infer.generating_args.max_new_tokens"));
  if (tokens && *tokens != run.effective_response_cap())
    add_ignored(tree, "actor_infer.generating_args.max_new_tokens",
                "no effect: response_length or sequence_length takes precedence", run);
  add_ignored(tree, "actor_infer.infer_batch_size", "no effect: the engine schedules its own batches", run);
  return {};
}

/// Reports that a reward model that generates its verdicts is modeled as inference.
base::Status add_unmodeled_roll_judge(const syntax::SettingTree& tree, const std::string& judge, ImportedRun& run) {
  if (judge.empty()) return {};
  DOVETAIL_CHECK(add_unmodeled_roll_engine(tree, judge, run));
  add_not_modelled(tree, judge + ".device_mapping",
                   "the reward model generates verdicts one by one, for finished samples of its domain; modeled as one "
                   "inference pass over all samples after generation",
                   run);
  return {};
}

/// Reports filters of groups and responses, external judges and rule workers.
base::Status add_unmodeled_roll_rewards(const syntax::SettingTree& tree, ImportedRun& run) {
  const syntax::Setting* const rewards = find_setting(tree.root, "rewards");
  if (rewards == nullptr) return {};
  constexpr std::array filters{
      CheckedSetting{"query_filter_config.type", "no_filter", "discarding and regenerating groups is not modeled"},
      CheckedSetting{"response_filter_config.type", "no_filter", "discarding responses is not modeled"},
      CheckedSetting{"judge_model_type", "inference|cluster|null",
                     "the reward is computed outside the cluster; modeled as taking no time"}};
  for (const auto& [name, reward] : rewards->members) {
    const std::string role = fmt::format("rewards.{}", name);
    DOVETAIL_CHECK(add_unmodeled(tree, role + ".", filters, run));
    DOVETAIL_TRY(const auto workers, optional_integer(tree, role + ".world_size"));
    const bool by_rule = find_member(reward, "device_mapping") == nullptr;
    if (workers && by_rule)
      add_not_modelled(tree, role + ".world_size",
                       fmt::format("{}: workers on CPUs compute the reward; modeled as taking no time", *workers), run);
  }
  return {};
}

/// Reports behavior of ROLL's loop that no setting controls, and sets whether the loss computes entropy.
base::Status add_roll_facts(const syntax::SettingTree& tree, bool critic, bool adapted, ImportedRun& run) {
  if (run.reference && adapted)
    add_not_modelled(
        tree, "actor_train.model_args.lora_target",
        "the reference is the actor without its adapters; modeled as separate weights fetched from the host", run);
  DOVETAIL_TRY(const auto entropy, optional_number(tree, "entropy_loss_coef"));
  if (entropy.value_or(0) > 0 && run.training == "roll-megatron")
    run.software.loss_entropy = plan::LossEntropy::computed;
  if (!critic) return {};
  add_not_modelled(tree, "critic.device_mapping",
                   "actor and critic are trained concurrently; modeled as trained in sequence if they share GPUs", run);
  return {};
}

}  // namespace

base::Status add_roll_unmodeled(const syntax::SettingTree& tree, const std::string& judge, ImportedRun& run) {
  const auto mesh_of = [&run](std::string_view name) {
    const auto task = std::find_if(run.tasks.begin(), run.tasks.end(),
                                   [name](const ImportedTask& each) { return each.task == name; });
    return task == run.tasks.end() ? 0 : task->planned.mesh.count;
  };
  const syntax::Setting* const target = find_setting(tree.root, "actor_train.model_args.lora_target");
  const bool adapted = target != nullptr && target->kind != syntax::Setting::Kind::null;
  const bool critic = mesh_of("critic_train") > 0;
  DOVETAIL_CHECK(add_unmodeled(tree, "", checked_of_pipeline, run));
  DOVETAIL_CHECK(take_sync_bucket(tree, "model_update_buffer_size_mb", 1 << 20, run));
  DOVETAIL_CHECK(add_unmodeled_roll_role(tree, "actor_train", RollUse::trains, mesh_of("actor_train"), run));
  if (run.reference && !adapted)
    DOVETAIL_CHECK(add_unmodeled_roll_role(tree, "reference", RollUse::passes, mesh_of("reference_infer"), run));
  if (critic) DOVETAIL_CHECK(add_unmodeled_roll_role(tree, "critic", RollUse::trains, mesh_of("critic_train"), run));
  DOVETAIL_CHECK(add_unmodeled_roll_generation(tree, run));
  DOVETAIL_CHECK(add_unmodeled_roll_judge(tree, judge, run));
  DOVETAIL_CHECK(add_unmodeled_roll_rewards(tree, run));
  DOVETAIL_CHECK(add_roll_types(tree, mesh_of("actor_train"), mesh_of("critic_train"), run));
  if (!run.reference || adapted)
    add_ignored(tree, "reference.device_mapping",
                adapted ? "no effect: the reference is the actor without its adapters"
                        : "no effect: no setting requires a reference",
                run);
  if (!critic) add_ignored(tree, "critic.device_mapping", "no effect: there is no critic without gae", run);
  for (const std::string_view role : {"actor_train", "actor_infer", "reference", "critic"})
    add_ignored(tree, fmt::format("{}.world_size", role), "no effect: the number of GPUs determines it", run);
  for (const char* const key : {"is_offload_states", "is_offload_optimizer_states_in_train_step"})
    add_ignored(tree, key, "no effect in the RLVR pipeline", run);
  return add_roll_facts(tree, critic, adapted, run);
}

}  // namespace dovetail::trainers
