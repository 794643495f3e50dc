#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <string>

#include "trainers/import/role_training.h"
#include "trainers/import/settings.h"
#include "trainers/openrlhf/openrlhf.h"

namespace dovetail::trainers {
namespace {

constexpr std::array checked_flags{
    CheckedSetting{
        "--ds.zpg", "1",
        "weights are sharded within groups; modeled as sharded over all GPUs, but the real run uses more memory"},
    CheckedSetting{"--ds.load_in_4bit", "false", "modeled in 16 bits; the real run uses less memory"},
    CheckedSetting{"--ds.overlap_comm", "false",
                   "gradient reduction overlaps the backward pass; the real run is faster"},
    CheckedSetting{"--ds.use_liger_kernel", "false", "fused kernels; the real run uses less memory for logits"},
    CheckedSetting{"--ds.deepcompile", "false", "compiled layers are not modeled"},
    CheckedSetting{"--ds.attn_implementation", "flash_attention_2|flash_attention_3|kernels-community/vllm-flash-attn3",
                   "modeled as flash attention; the real run is slower and uses more memory"},
    CheckedSetting{"--ds.experts_implementation", "null", "the implementation of experts is not modeled"},
    CheckedSetting{"--ds.param_dtype", "bf16", "modeled as bf16, which uses the same memory"},
    CheckedSetting{"--actor.gradient_checkpointing_reentrant", "false", "modeled as non-reentrant"},
    CheckedSetting{"--actor.optim", "adam", "modeled as Adam, whose moments use more memory"},
    CheckedSetting{"--critic.optim", "adam", "modeled as Adam, whose moments use more memory"},
    CheckedSetting{"--actor.freeze_visual_encoder", "false", "the vision part is not modeled"},
    CheckedSetting{"--data.max_images_per_prompt", "0", "the vision part is not modeled"},
    CheckedSetting{"--train.full_determinism_enable", "false", "deterministic kernels; the real run is slower"},
    CheckedSetting{"--train.enable_ema", "false", "the moving average of the weights on the host is not modeled"},
    CheckedSetting{"--train.async_queue_size", "1", "batches queued for the trainer; modeled as one batch"},
    CheckedSetting{"--train.partial_rollout_enable", "false",
                   "generation pauses for the weight sync and resumes; modeled as batches that finish before it"},
    CheckedSetting{"--algo.dynamic_filtering_enable", "false", "discarding and regenerating groups is not modeled"},
    CheckedSetting{"--critic.freezing_steps", "-1|0",
                   "the first iterations do not train the actor; modeled as always trained"},
    CheckedSetting{"--vllm.sync_backend", "nccl", "modeled as weights sent by NCCL"},
    CheckedSetting{"--vllm.sync_with_ray", "false",
                   "weights are sent through Ray; modeled as NCCL, but the real run is slower"},
    CheckedSetting{"--train.agent_func_path", "null",
                   "multi-turn rollouts with an environment; modeled as one response without waiting"},
    CheckedSetting{"--ref.offload", "false",
                   "layers are streamed from the host for each micro-batch; modeled as fetched once per pass"},
    CheckedSetting{"--reward.offload", "false",
                   "layers are streamed from the host for each micro-batch; modeled as fetched once per pass"},
};

/// Flags that later versions removed and that affect neither time nor memory.
constexpr std::array gone_flags{"--perf", "--actor_init_on_gpu", "--bf16", "--flash_attn"};

/// Reports flags that have an effect only in combination with others.
base::Status add_dependent(const syntax::SettingTree& tree, ImportedRun& run) {
  constexpr std::string_view stride_key = "--ds.ring_attn_head_stride";
  constexpr std::string_view modules_key = "--ds.lora.target_modules";
  constexpr std::string_view generated_key = "--rollout.vllm_generate_batch_size";
  constexpr std::string_view cache_key = "--vllm.enable_prefix_caching";
  DOVETAIL_TRY(const std::int64_t ring, integer_at(tree, "--ds.ring_attn_size"));
  DOVETAIL_TRY(const std::int64_t stride, integer_at(tree, stride_key));
  DOVETAIL_TRY(const std::int64_t rank, integer_at(tree, "--ds.lora.rank"));
  DOVETAIL_TRY(const auto generated, optional_integer(tree, generated_key));
  DOVETAIL_TRY(const bool caches, flag_at(tree, cache_key));
  if (!caches && run.samples_per_prompt > 1)
    run.not_modelled.push_back({std::string(cache_key),
                                "false: the prompt of a group is computed for each sample; modeled as computed once, "
                                "but the real run is slower",
                                place_of(tree, cache_key)});
  if (ring > 1 && stride != 1)
    run.not_modelled.push_back({std::string(stride_key),
                                fmt::format("{}: sending several heads together is not modeled", stride),
                                place_of(tree, stride_key)});
  const syntax::Setting* const modules = find_setting(tree.root, modules_key);
  const std::string named = modules == nullptr ? "null" : value_text(*modules);
  if (rank > 0 && !is_one_of(named, "null|[all-linear]"))
    run.not_modelled.push_back(
        {std::string(modules_key), named + ": modeled with adapters at all projections", place_of(tree, modules_key)});
  if (generated.value_or(0) > 0 && *generated != run.prompts)
    run.not_modelled.push_back({std::string(generated_key),
                                fmt::format("{}: prompts sent to the engines at a time; modeled as all {} of an "
                                            "iteration",
                                            *generated, run.prompts),
                                place_of(tree, generated_key)});
  return {};
}

/// Sets whether the loss computes entropy, and the gradient type. A weight of 0 still computes entropy. Gradients are
/// summed in 16 bits by default.
base::Status add_types(const syntax::SettingTree& tree, ImportedRun& run) {
  DOVETAIL_TRY(const auto entropy, optional_number(tree, "--actor.entropy_coef"));
  if (!entropy) run.software.loss_entropy = plan::LossEntropy::none;
  const std::string key = "--ds.grad_accum_dtype";
  DOVETAIL_TRY(const auto value, optional_text(tree, key));
  if (!value || *value == "bf16") return {};
  const auto type = state_type(*value);
  if (!type) return setting_error(tree, key, "is " + *value + "; accepted: bf16, fp16, fp32");
  run.software.gradient_type = *type;
  return {};
}

base::Status add_engines(const syntax::SettingTree& tree, ImportedRun& run) {
  DOVETAIL_TRY(const bool all, flag_at(tree, "--train.colocate_all"));
  DOVETAIL_TRY(const bool async, flag_at(tree, "--train.async_enable"));
  DOVETAIL_TRY(const bool sleeps, flag_at(tree, "--vllm.enable_sleep"));
  DOVETAIL_TRY(const bool trainer_sleeps, flag_at(tree, "--ds.enable_sleep"));
  if (sleeps && !all)
    run.ignored.push_back({"--vllm.enable_sleep", "no effect: engines on separate GPUs do not sleep",
                           place_of(tree, "--vllm.enable_sleep")});
  if (!sleeps && all && !async)
    run.not_modelled.push_back(
        {"--vllm.enable_sleep",
         "false: the engine's KV cache stays on the device; modeled as freed, but the real run uses more memory",
         place_of(tree, "--train.colocate_all")});
  if (all && !async && !trainer_sleeps && run.algorithm == "ppo")
    run.not_modelled.push_back({"--ds.enable_sleep",
                                "false: actor and critic are trained concurrently on the same GPUs; modeled as trained "
                                "in sequence",
                                place_of(tree, "--train.colocate_all")});
  return {};
}

}  // namespace

base::Status add_openrlhf_unmodeled(const syntax::SettingTree& tree, ImportedRun& run) {
  DOVETAIL_CHECK(add_unmodeled(tree, "", checked_flags, run));
  for (const char* const flag : gone_flags)
    if (const syntax::Place place = place_of(tree, flag); place.line > 0)
      run.ignored.push_back({flag, "changes neither time nor memory; later versions of OpenRLHF removed it", place});
  if (const syntax::Place place = place_of(tree, "--ptx_coef"); place.line > 0)
    run.not_modelled.push_back({"--ptx_coef", "additional training on pretraining data is not modeled", place});
  DOVETAIL_TRY(const auto remote, optional_text(tree, "--reward.remote_url"));
  if (remote && remote->find("://") != std::string::npos)
    run.not_modelled.push_back({"--reward.remote_url",
                                "the reward is computed outside the cluster; modeled as taking no time",
                                place_of(tree, "--reward.remote_url")});
  DOVETAIL_CHECK(add_dependent(tree, run));
  DOVETAIL_CHECK(add_types(tree, run));
  return add_engines(tree, run);
}

}  // namespace dovetail::trainers
