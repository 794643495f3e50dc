#include "trainers/roll/watched.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "trainers/import/layouts.h"
#include "trainers/import/role_training.h"
#include "trainers/import/roles.h"
#include "trainers/import/settings.h"
#include "trainers/import/watched.h"
#include "trainers/roll/layouts.h"
#include "trainers/roll/types.h"

namespace dovetail::trainers {
namespace {

constexpr std::array watched_of_pipeline{
    Watched{"is_use_additional_prompts", "false",
            "more prompts are generated than trained on: not counted, the real run generates longer"},
    Watched{"generate_opt_level", "1", "prompts are generated in whole batches: counted as one by one"},
    Watched{"critic_warmup", "0|0.0", "the actor is not trained in the first steps: counted as always trained"},
    Watched{"save_logging_board_dir", "null", "log-probabilities are computed once more: not counted"},
    Watched{"rollout_mock.enable", "false",
            "responses are written or read in place of generated: counted as generated"},
    Watched{"transfer_backend.backend_name", "null", "weights sent another way: counted as by NCCL or on the node"},
    Watched{"profiler_timeline", "false", "the profiler runs beside: the real run is slower"},
    Watched{"profiler_memory", "false", "the profiler runs beside: the real run is slower"},
    Watched{"actor_train.model_update_frequency", "1", "weights are sent in some steps alone: counted in each"},
    Watched{"actor_infer.generating_args.num_beams", "1", "beams: counted as one response without them"},
    Watched{"actor_infer.model_args.dtype", "bf16|fp16", "counted as bf16, the real run holds more"},
};

/// Of each role that trains or passes.
constexpr std::array watched_of_role{
    Watched{"model_args.dtype", "bf16", "counted as bf16"},
    Watched{"model_args.freeze_module_prefix", "null", "parts are frozen: counted as trained, vision is not counted"},
    Watched{"logits_in_fp32", "false", "logits in fp32: counted as bf16 first, the real run needs more for them"},
    Watched{"router_replay.mode", "disable", "experts are chosen as in generation: not counted"},
    Watched{"mtp_training_mode", "disabled|null", "layers that predict further tokens are trained: not counted"},
};

constexpr std::array watched_of_megatron{
    Watched{"pipeline_model_parallel_layout", "null", "layers of each stage by letters: counted as even"},
    Watched{"moe_grouped_gemm", "true|null", "experts one by one: counted as grouped, the real run is slower"},
    Watched{"moe_shared_expert_overlap", "false", "shared experts beside the exchange: the real run is faster"},
    Watched{"moe_expert_capacity_factor", "null", "tokens beyond a capacity are dropped: not counted"},
    Watched{"cross_entropy_loss_fusion", "false", "log-probabilities in fused kernels: the real run needs less memory"},
    Watched{"apply_rope_fusion", "false", "a fused kernel: not counted"},
    Watched{"bias_activation_fusion", "false", "a fused kernel: not counted"},
    Watched{"transformer_impl", "transformer_engine|null", "counted as Transformer Engine"},
    Watched{"cuda_graph_impl", "null", "training in CUDA graphs: the real run is faster"},
    Watched{"fp8", "null", "training in fp8: counted as bf16, the real run is faster"},
    Watched{"fp8_recipe", "null", "training in fp8: counted as bf16, the real run is faster"},
    Watched{"fp8_param", "false", "weights in fp8: counted as bf16, the real run holds less"},
    Watched{"mtp_num_layers", "0|null", "layers that predict further tokens: not counted, the real run holds more"},
};
/// The same, of what trains.
constexpr std::array watched_of_megatron_training{
    Watched{"recompute_method", "null|uniform", "counted as each layer by itself"},
    Watched{"recompute_num_layers", "null|1", "counted as each layer by itself"},
    Watched{"optimizer", "adam", "counted as Adam, whose moments take more"},
    Watched{"ddp_bucket_size", "null", "the size of messages of gradients: not counted"},
    Watched{"use_batched_model_update", "true|null", "weights are sent one by one: the real run is slower"},
};
/// Of the same map: read for layouts, or known to change neither time nor memory.
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

constexpr std::array watched_of_fsdp2{
    Watched{"apply_tiled_mlp", "false", "feed-forward layers in tiles: the real run holds less"},
    Watched{"moe_use_grouped_mm", "true", "experts one by one: counted as grouped, the real run is slower"},
    Watched{"efsdp_size", "1", "experts are cut over so many GPUs: counted as over all that share them"},
};
/// The same, of what trains.
constexpr std::array watched_of_fsdp2_training{
    Watched{"reduce_dtype", "fp32|float32", "gradients are reduced in it: counted in fp32"},
    Watched{"reduce_scatter_during_grad_accumulation", "true",
            "gradients are kept whole until the step: counted as scattered, the real run holds more"},
};
constexpr std::array<std::string_view, 9> known_of_fsdp2{
    "fsdp_size",       "reshard_after_forward", "offload_policy", "ep_size",         "param_dtype",
    "async_save_ckpt", "save_only_model",       "model_type",     "tiled_num_shards"};

constexpr std::array watched_of_vllm{
    Watched{"block_size", "16", "tokens of a block of the cache: counted as 16"},
};
constexpr std::array<std::string_view, 20> known_of_vllm{"tensor_parallel_size",
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

constexpr std::array watched_of_sglang{
    Watched{"enable_memory_saver", "true", "the engine does not sleep: counted as if it did, the real run holds more"},
    Watched{"dp_size", "1", "counted as instances by themselves"},
};
constexpr std::array<std::string_view, 13> known_of_sglang{"quantization",
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

/// What is counted of the engine that generates alone.
constexpr std::array watched_of_judges{
    Watched{"quantization", "null", "weights in fewer bits: counted as bf16"},
    Watched{"kv_cache_dtype", "null|auto", "keys and values in fewer bits: counted as bf16"},
};

void add_not_modelled(const syntax::SettingTree& tree, const std::string& key, std::string what, ImportedRun& run) {
  run.not_modelled.push_back({key, std::move(what), place_of(tree, key)});
}

/// What stands at `keys`: the table's, of what trains that of training, and all else that is not known, which is handed
/// on.
base::Status watch_strategy(const syntax::SettingTree& tree, const std::string& keys, std::span<const Watched> table,
                            std::span<const std::string_view> known, ImportedRun& run,
                            std::span<const Watched> of_training = {}, bool trains = false) {
  DOVETAIL_CHECK(watch(tree, keys + ".", table, run));
  if (trains) DOVETAIL_CHECK(watch(tree, keys + ".", of_training, run));
  std::vector<std::string_view> read(known.begin(), known.end());
  for (const std::span<const Watched> each : {table, of_training})
    for (const Watched& watched : each) read.push_back(watched.key);
  watch_handed_on(tree, keys, read, run);
  return {};
}

void add_ignored(const syntax::SettingTree& tree, const std::string& key, std::string what, ImportedRun& run) {
  const syntax::Setting* const setting = find_setting(tree.root, key);
  if (setting != nullptr && setting->kind != syntax::Setting::Kind::null)
    run.ignored.push_back({key, std::move(what), setting->place});
}

/// Layouts of one role that has experts.
bool has_expert_groups(const ImportedRun& run) {
  return std::any_of(run.tasks.begin(), run.tasks.end(),
                     [](const ImportedTask& task) { return task.planned.layout.expert > 1; });
}

base::Status watch_megatron(const syntax::SettingTree& tree, const std::string& role, bool trains, ImportedRun& run) {
  const std::string keys = roll_strategy_key(role);
  DOVETAIL_CHECK(
      watch_strategy(tree, keys, watched_of_megatron, known_of_megatron, run, watched_of_megatron_training, trains));
  for (const char* const name : {".optimizer_cpu_offload", ".optimizer_offload_fraction"})
    add_ignored(tree, keys + name, "ROLL hands it to no optimizer", run);
  for (const char* const name : {".model_args.disable_gradient_checkpointing", ".model_args.attn_implementation"})
    add_ignored(tree, role + name, "Megatron's strategies do not heed it", run);
  const std::string dispatcher_key = keys + ".moe_token_dispatcher_type";
  DOVETAIL_TRY(const auto dispatcher, optional_text(tree, dispatcher_key));
  if (dispatcher ? *dispatcher != "alltoall" : has_expert_groups(run))
    add_not_modelled(
        tree, dispatcher_key,
        fmt::format("{}: tokens of experts are gathered on all ranks: counted as all-to-all, the real run is "
                    "slower and holds more",
                    dispatcher.value_or("not given")),
        run);
  if (!trains) return {};
  DOVETAIL_TRY(const auto granularity, optional_text(tree, keys + ".recompute_granularity"));
  const std::string modules_key = keys + ".recompute_modules";
  if (const syntax::Setting* const modules = find_setting(tree.root, modules_key); modules != nullptr) {
    DOVETAIL_TRY(const bool experts, roll_flag(tree, keys + ".moe_layer_recompute"));
    if (granularity != "selective" && !experts)
      add_ignored(tree, modules_key, "without recompute_granularity selective it has no effect", run);
    else
      DOVETAIL_CHECK(watch_modules(tree, modules_key, run));
  }
  DOVETAIL_TRY(const bool overlaps, roll_flag(tree, keys + ".overlap_grad_reduce"));
  if (!overlaps)
    add_not_modelled(tree, keys + ".overlap_grad_reduce",
                     "false: gradients are reduced behind the backward: counted as beside it, the real run is slower",
                     run);
  DOVETAIL_TRY(const auto in_fp32, optional_flag(tree, keys + ".accumulate_allreduce_grads_in_fp32"));
  if (in_fp32 == false)
    add_ignored(tree, keys + ".accumulate_allreduce_grads_in_fp32", "true of models in bf16, whatever is said", run);
  add_not_modelled(tree, role + ".strategy_args.strategy_name",
                   "moments leave for the host in forward and backward and come for each step: counted as on the GPUs "
                   "throughout training, the real run holds less and moves more",
                   run);
  return {};
}

base::Status watch_fsdp2(const syntax::SettingTree& tree, const std::string& role, bool trains, int devices,
                         ImportedRun& run) {
  const std::string keys = roll_strategy_key(role);
  DOVETAIL_CHECK(watch_strategy(tree, keys, watched_of_fsdp2, known_of_fsdp2, run, watched_of_fsdp2_training, trains));
  const std::string type_key = keys + ".param_dtype";
  DOVETAIL_TRY(const auto type, optional_text(tree, type_key));
  const bool whole = type && is_one_of(*type, "fp32|float32");
  if (!trains && whole)
    add_not_modelled(tree, type_key, *type + ": weights are kept in it: counted in bf16, the real run holds more", run);
  DOVETAIL_TRY(const std::int64_t size, roll_count(tree, keys + ".fsdp_size", 1));
  if (!trains && size > 1 && size < devices)
    add_not_modelled(tree, keys + ".fsdp_size",
                     fmt::format("{}: shard groups of what passes: counted as of what is trained", size), run);
  DOVETAIL_TRY(const bool on_host, roll_flag(tree, keys + ".offload_policy"));
  if (on_host)
    add_not_modelled(
        tree, keys + ".offload_policy",
        "true: weights and gradients are fetched from the host layer by layer: only the optimizer is counted "
        "there",
        run);
  const std::string attention_key = role + ".model_args.attn_implementation";
  DOVETAIL_TRY(const auto attention, optional_text(tree, attention_key));
  if (!attention || !is_one_of(*attention, "fa2|flash_attention_2"))
    add_not_modelled(
        tree, attention_key,
        attention.value_or("not given") + ": counted as flash attention, the real run is slower and holds more", run);
  DOVETAIL_TRY(const std::int64_t ulysses, roll_count(tree, role + ".model_args.ulysses_size", 1));
  if (ulysses > 1)
    add_not_modelled(
        tree, role + ".model_args.ulysses_size",
        fmt::format("{}: heads are exchanged in place of keys and values: counted as context parallelism", ulysses),
        run);
  for (const char* const name :
       {".use_dynamic_batching_in_train", ".use_dynamic_batching_in_infer", ".use_sequence_packing"}) {
    DOVETAIL_TRY(const bool on, roll_flag(tree, role + name));
    if (on) add_not_modelled(tree, role + name, "true: FSDP cuts by sequences all the same: counted so", run);
  }
  return {};
}

/// What a role says of how it is cut and that has no effect, or that is not counted.
base::Status watch_roll_cut(const syntax::SettingTree& tree, const std::string& role, RollUse use, bool in_training,
                            ImportedRun& run) {
  DOVETAIL_TRY(const RollCut cut, roll_cut(tree, role, use, in_training));
  const bool packs = cut == RollCut::packed || cut == RollCut::balanced;
  const std::string round_key =
      role + (in_training ? ".sequence_length_round_in_train" : ".sequence_length_round_in_infer");
  const std::string budget_key = roll_budget_key(role, RollCut::dynamic, in_training);
  if (cut == RollCut::dynamic) {
    DOVETAIL_TRY(const std::int64_t round, roll_count(tree, round_key, 4));
    if (round != 4)
      add_not_modelled(tree, round_key, fmt::format("{}: lengths are rounded up to it: counted as they are", round),
                       run);
  } else {
    add_ignored(tree, round_key, "without dynamic batches it has no effect", run);
    add_ignored(tree, budget_key, "without dynamic batches it has no effect", run);
  }
  if (cut == RollCut::balanced) {
    const std::string key = role + (in_training ? ".sequence_packing_args.min_num_micro_batches_train"
                                                : ".sequence_packing_args.min_num_micro_batches_forward");
    DOVETAIL_TRY(const std::int64_t fewest, roll_count(tree, key, 1));
    if (fewest > 1)
      add_not_modelled(tree, key, fmt::format("{}: at least as many micro-batches: counted as few as fit", fewest),
                       run);
  }
  if (cut == RollCut::sequences && (in_training || use == RollUse::passes))
    add_not_modelled(
        tree, role + ".use_sequence_packing",
        "not on: all sequences are padded to the caps of prompt and response: counted as long as they are, or as "
        "the longest of their micro-batch",
        run);
  if (packs != run.packing)
    add_not_modelled(tree, role + ".use_sequence_packing",
                     fmt::format("{} of {} are {}packed: counted as training of the actor is",
                                 in_training ? "batches" : "passes", role, packs ? "" : "not "),
                     run);
  return {};
}

base::Status watch_roll_role(const syntax::SettingTree& tree, const std::string& role, RollUse use, int devices,
                             ImportedRun& run) {
  DOVETAIL_CHECK(watch(tree, role + ".", watched_of_role, run));
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, role, use));
  const bool trains = use == RollUse::trains;
  if (backend == RollBackend::megatron) DOVETAIL_CHECK(watch_megatron(tree, role, trains, run));
  if (backend == RollBackend::fsdp2) DOVETAIL_CHECK(watch_fsdp2(tree, role, trains, devices, run));
  if (backend == RollBackend::deepspeed)
    add_not_modelled(tree, role + ".strategy_args.strategy_name",
                     "no strategy of ROLL's since 2026: counted as versions had it that did", run);
  DOVETAIL_TRY(const RollBackend actors, roll_backend(tree, "actor_train", RollUse::trains));
  if (backend != actors)
    add_not_modelled(tree, role + ".strategy_args.strategy_name",
                     "another one than the actor's: memory is counted as the actor's strategy keeps it", run);
  DOVETAIL_CHECK(watch_roll_cut(tree, role, use, false, run));
  if (trains) DOVETAIL_CHECK(watch_roll_cut(tree, role, use, true, run));
  if (use != RollUse::generates && backend != RollBackend::hugging_face) {
    DOVETAIL_TRY(const std::int64_t worker, roll_count(tree, role + ".num_gpus_per_worker", 1));
    if (worker > 1) add_ignored(tree, role + ".num_gpus_per_worker", "1 with this strategy, whatever is said", run);
  }
  for (const char* const name : {".offload_nccl", ".model_args.flash_attn", ".use_remove_padding"}) {
    DOVETAIL_TRY(const auto said, optional_text(tree, role + name));
    if (said && *said != "false") add_ignored(tree, role + name, "ROLL of this version does not heed it", run);
  }
  return {};
}

base::Status watch_roll_engine(const syntax::SettingTree& tree, const std::string& role, ImportedRun& run) {
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, role, RollUse::judges));
  const std::string keys = roll_strategy_key(role);
  if (backend == RollBackend::hugging_face) return {};
  if (role != "actor_infer") DOVETAIL_CHECK(watch(tree, keys + ".", watched_of_judges, run));
  if (backend == RollBackend::sglang) {
    DOVETAIL_CHECK(watch_strategy(tree, keys, watched_of_sglang, known_of_sglang, run));
    return {};
  }
  DOVETAIL_CHECK(watch_strategy(tree, keys, watched_of_vllm, known_of_vllm, run));
  const std::string worker_key = role + ".num_gpus_per_worker";
  DOVETAIL_TRY(const auto worker, optional_whole(tree, worker_key));
  DOVETAIL_TRY(const std::int64_t tensor, roll_count(tree, keys + ".tensor_parallel_size", 1));
  DOVETAIL_TRY(const std::int64_t stages, roll_count(tree, keys + ".pipeline_parallel_size", 1));
  if (worker && *worker != tensor * stages)
    add_ignored(tree, worker_key, "vLLM's tensor_parallel_size x pipeline_parallel_size goes before it", run);
  return {};
}

base::Status watch_roll_generation(const syntax::SettingTree& tree, ImportedRun& run) {
  const std::string keys = roll_strategy_key("actor_infer");
  DOVETAIL_CHECK(watch_roll_engine(tree, "actor_infer", run));
  DOVETAIL_TRY(const RollBackend backend, roll_backend(tree, "actor_infer", RollUse::generates));
  const bool is_vllm = backend == RollBackend::vllm;
  const std::string both_key = keys + (is_vllm ? ".max_model_len" : ".context_length");
  DOVETAIL_TRY(const auto both, optional_whole(tree, both_key));
  if (both) take_sequence_cap(tree, both_key, *both, run);
  const std::string cache_key = keys + (is_vllm ? ".enable_prefix_caching" : ".disable_radix_cache");
  DOVETAIL_TRY(const auto caches, optional_flag(tree, cache_key));
  if (caches.value_or(is_vllm) == is_vllm && run.samples_per_prompt > 1)
    add_not_modelled(tree, cache_key,
                     fmt::format("{}: prompts of a group are computed once: counted for each sample, the real run is "
                                 "faster",
                                 is_vllm),
                     run);
  if (backend == RollBackend::sglang) run.software.engine = plan::EngineKind::sglang;
  DOVETAIL_CHECK(take_engine_weights(tree, keys + ".quantization", run));
  DOVETAIL_CHECK(take_key_values(tree, keys + ".kv_cache_dtype", run));
  DOVETAIL_TRY(const auto level, optional_whole(tree, keys + ".sleep_level"));
  if (is_vllm && level.value_or(1) > 1) run.software.engine_sleep = plan::EngineSleep::discards;
  if (backend == RollBackend::sglang)
    add_not_modelled(tree, "actor_infer.strategy_args.strategy_name", "sglang: the engine is counted as vLLM schedules",
                     run);
  DOVETAIL_TRY(const auto copies, optional_whole(tree, "actor_infer.generating_args.num_return_sequences"));
  if (copies && *copies != run.samples_per_prompt)
    add_ignored(tree, "actor_infer.generating_args.num_return_sequences",
                "num_return_sequences_in_group goes before it", run);
  DOVETAIL_TRY(const auto tokens, optional_whole(tree, "actor_infer.generating_args.max_new_tokens"));
  if (tokens && *tokens != run.said_response_cap())
    add_ignored(tree, "actor_infer.generating_args.max_new_tokens", "the caps of the whole go before it", run);
  add_ignored(tree, "actor_infer.infer_batch_size", "the engine schedules by itself", run);
  return {};
}

/// A model that judges by words, of which a job knows passes alone.
base::Status watch_roll_judge(const syntax::SettingTree& tree, const std::string& judge, ImportedRun& run) {
  if (judge.empty()) return {};
  DOVETAIL_CHECK(watch_roll_engine(tree, judge, run));
  add_not_modelled(tree, judge + ".device_mapping",
                   "a model that judges generates its verdicts, one by one, of samples of its domain and as they are "
                   "finished: counted as one pass over all of them behind generation",
                   run);
  return {};
}

/// Groups that are thrown away and generated again, and verdicts of servers.
base::Status watch_roll_rewards(const syntax::SettingTree& tree, ImportedRun& run) {
  const syntax::Setting* const rewards = find_setting(tree.root, "rewards");
  if (rewards == nullptr) return {};
  constexpr std::array filters{
      Watched{"query_filter_config.type", "no_filter", "groups are thrown away and generated again: not counted"},
      Watched{"response_filter_config.type", "no_filter", "responses are thrown away: not counted"},
      Watched{"judge_model_type", "inference|cluster|null",
              "a model outside of the cluster judges: counted as no time"}};
  for (const auto& [name, reward] : rewards->members) {
    const std::string role = fmt::format("rewards.{}", name);
    DOVETAIL_CHECK(watch(tree, role + ".", filters, run));
    DOVETAIL_TRY(const auto workers, optional_whole(tree, role + ".world_size"));
    const bool by_rule = find_member(reward, "device_mapping") == nullptr;
    if (workers && by_rule)
      add_not_modelled(tree, role + ".world_size",
                       fmt::format("{}: workers on CPUs: what they judge is counted as no time", *workers), run);
  }
  return {};
}

/// What ROLL's loop does that is no setting.
base::Status add_roll_facts(const syntax::SettingTree& tree, bool critic, bool adapted, ImportedRun& run) {
  if (run.reference && adapted)
    add_not_modelled(
        tree, "actor_train.model_args.lora_target",
        "the reference is the actor without its adapters: counted as weights of its own that come from the host", run);
  DOVETAIL_TRY(const auto entropy, optional_number(tree, "entropy_loss_coef"));
  if (entropy.value_or(0) > 0 && run.training == "roll-megatron")
    run.software.loss_entropy = plan::LossEntropy::computed;
  if (!critic) return {};
  add_not_modelled(tree, "critic.device_mapping",
                   "critic and actor are trained at the same time: counted one behind the other where they share GPUs",
                   run);
  return {};
}

}  // namespace

base::Status add_roll_watched(const syntax::SettingTree& tree, const std::string& judge, ImportedRun& run) {
  const auto mesh_of = [&run](std::string_view name) {
    const auto task = std::find_if(run.tasks.begin(), run.tasks.end(),
                                   [name](const ImportedTask& each) { return each.task == name; });
    return task == run.tasks.end() ? 0 : task->planned.mesh.count;
  };
  const syntax::Setting* const target = find_setting(tree.root, "actor_train.model_args.lora_target");
  const bool adapted = target != nullptr && target->kind != syntax::Setting::Kind::null;
  const bool critic = mesh_of("critic_train") > 0;
  DOVETAIL_CHECK(watch(tree, "", watched_of_pipeline, run));
  DOVETAIL_CHECK(take_sync_bucket(tree, "model_update_buffer_size_mb", 1 << 20, run));
  DOVETAIL_CHECK(watch_roll_role(tree, "actor_train", RollUse::trains, mesh_of("actor_train"), run));
  if (run.reference && !adapted)
    DOVETAIL_CHECK(watch_roll_role(tree, "reference", RollUse::passes, mesh_of("reference_infer"), run));
  if (critic) DOVETAIL_CHECK(watch_roll_role(tree, "critic", RollUse::trains, mesh_of("critic_train"), run));
  DOVETAIL_CHECK(watch_roll_generation(tree, run));
  DOVETAIL_CHECK(watch_roll_judge(tree, judge, run));
  DOVETAIL_CHECK(watch_roll_rewards(tree, run));
  DOVETAIL_CHECK(add_roll_types(tree, mesh_of("actor_train"), mesh_of("critic_train"), run));
  if (!run.reference || adapted)
    add_ignored(tree, "reference.device_mapping",
                adapted ? "with adapters the actor without them is the reference" : "nothing asks for a reference",
                run);
  if (!critic) add_ignored(tree, "critic.device_mapping", "without gae there is no critic", run);
  for (const std::string_view role : {"actor_train", "actor_infer", "reference", "critic"})
    add_ignored(tree, fmt::format("{}.world_size", role), "as many as the GPUs make", run);
  for (const char* const key : {"is_offload_states", "is_offload_optimizer_states_in_train_step"})
    add_ignored(tree, key, "the RLVR pipeline does not heed it", run);
  return add_roll_facts(tree, critic, adapted, run);
}

}  // namespace dovetail::trainers
