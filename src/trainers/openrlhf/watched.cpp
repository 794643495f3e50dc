#include "trainers/openrlhf/watched.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>

#include "trainers/import/role_training.h"
#include "trainers/import/settings.h"
#include "trainers/import/watched.h"

namespace dovetail::trainers {
namespace {

constexpr std::array watched_flags{
    Watched{"--ds.zpg", "1",
            "groups that hold all weights: counted as if all GPUs shared them; the real run holds more"},
    Watched{"--ds.load_in_4bit", "false", "counted in 16 bits, the real run holds less"},
    Watched{"--ds.overlap_comm", "false", "gradients are reduced beside the backward: the real run is faster"},
    Watched{"--ds.use_liger_kernel", "false", "fused kernels: the real run needs less for logits"},
    Watched{"--ds.deepcompile", "false", "compiled layers: not counted"},
    Watched{"--ds.attn_implementation", "flash_attention_2|flash_attention_3|kernels-community/vllm-flash-attn3",
            "counted as flash attention, the real run is slower and holds more"},
    Watched{"--ds.experts_implementation", "null", "how experts are computed: not counted"},
    Watched{"--ds.param_dtype", "bf16", "counted as bf16, which takes the same memory"},
    Watched{"--actor.gradient_checkpointing_reentrant", "false", "counted as without it"},
    Watched{"--actor.optim", "adam", "counted as Adam, whose moments take more"},
    Watched{"--critic.optim", "adam", "counted as Adam, whose moments take more"},
    Watched{"--actor.freeze_visual_encoder", "false", "vision is not counted"},
    Watched{"--data.max_images_per_prompt", "0", "vision is not counted"},
    Watched{"--train.full_determinism_enable", "false", "deterministic kernels: the real run is slower"},
    Watched{"--train.enable_ema", "false", "an average of the weights on the host: not counted"},
    Watched{"--train.async_queue_size", "1", "batches that wait for the trainer: counted as one"},
    Watched{"--train.partial_rollout_enable", "false",
            "generation is paused for the weights and goes on: counted as batches that end before"},
    Watched{"--algo.dynamic_filtering_enable", "false", "groups are thrown away and generated again: not counted"},
    Watched{"--critic.freezing_steps", "-1|0",
            "the actor is not trained in the first steps: counted as always trained"},
    Watched{"--vllm.enable_prefix_caching", "false", "prompts of a group are computed once: the real run is faster"},
    Watched{"--vllm.sync_backend", "nccl", "counted as weights sent by NCCL"},
    Watched{"--vllm.sync_with_ray", "false", "weights are sent by way of Ray: counted as NCCL, the real run is slower"},
    Watched{"--train.agent_func_path", "null", "turns with an environment: counted as one response without waiting"},
    Watched{"--ref.offload", "false",
            "layers are streamed from the host in every micro-batch: counted as weights that come once a pass"},
    Watched{"--reward.offload", "false",
            "layers are streamed from the host in every micro-batch: counted as weights that come once a pass"},
};

/// Accepted by versions that had them, without effect on time and memory today.
constexpr std::array gone_flags{"--perf", "--actor_init_on_gpu", "--bf16", "--flash_attn"};

/// Flags that change something beside another one alone.
base::Status add_dependent(const syntax::SettingTree& tree, ImportedRun& run) {
  constexpr std::string_view stride_key = "--ds.ring_attn_head_stride";
  constexpr std::string_view modules_key = "--ds.lora.target_modules";
  constexpr std::string_view generated_key = "--rollout.vllm_generate_batch_size";
  DOVETAIL_TRY(const std::int64_t ring, whole_at(tree, "--ds.ring_attn_size"));
  DOVETAIL_TRY(const std::int64_t stride, whole_at(tree, stride_key));
  DOVETAIL_TRY(const std::int64_t rank, whole_at(tree, "--ds.lora.rank"));
  DOVETAIL_TRY(const auto generated, optional_whole(tree, generated_key));
  if (ring > 1 && stride != 1)
    run.not_modelled.push_back({std::string(stride_key),
                                fmt::format("{}: heads that go round the ring together: not counted", stride),
                                place_of(tree, stride_key)});
  const syntax::Setting* const modules = find_setting(tree.root, modules_key);
  const std::string named = modules == nullptr ? "null" : value_words(*modules);
  if (rank > 0 && !is_one_of(named, "null|[all-linear]"))
    run.not_modelled.push_back(
        {std::string(modules_key), named + ": adapters are counted at all projections", place_of(tree, modules_key)});
  if (generated.value_or(0) > 0 && *generated != run.prompts)
    run.not_modelled.push_back({std::string(generated_key),
                                fmt::format("{}: prompts that the engines are given at once: counted as the {} of an "
                                            "iteration",
                                            *generated, run.prompts),
                                place_of(tree, generated_key)});
  return {};
}

/// The loss has entropy where it has a weight, be it 0; gradients are summed in 16 bits where nobody says another type.
base::Status add_types(const syntax::SettingTree& tree, ImportedRun& run) {
  DOVETAIL_TRY(const auto entropy, optional_number(tree, "--actor.entropy_coef"));
  if (!entropy) run.software.loss_entropy = plan::LossEntropy::none;
  const std::string key = "--ds.grad_accum_dtype";
  DOVETAIL_TRY(const auto said, optional_text(tree, key));
  if (!said || *said == "bf16") return {};
  const auto type = state_type(*said);
  if (!type) return setting_error(tree, key, "is " + *said + "; accepted: bf16, fp16, fp32");
  run.software.gradient_type = *type;
  return {};
}

base::Status add_engines(const syntax::SettingTree& tree, ImportedRun& run) {
  DOVETAIL_TRY(const bool all, flag_at(tree, "--train.colocate_all"));
  DOVETAIL_TRY(const bool async, flag_at(tree, "--train.async_enable"));
  DOVETAIL_TRY(const bool sleeps, flag_at(tree, "--vllm.enable_sleep"));
  DOVETAIL_TRY(const bool trainer_sleeps, flag_at(tree, "--ds.enable_sleep"));
  if (sleeps && !all)
    run.ignored.push_back(
        {"--vllm.enable_sleep", "engines on GPUs of their own do not sleep", place_of(tree, "--vllm.enable_sleep")});
  if (!sleeps && all && !async)
    run.not_modelled.push_back(
        {"--vllm.enable_sleep",
         "false: the cache of the engines stays on the GPUs: counted as if it left, the real run holds more",
         place_of(tree, "--train.colocate_all")});
  if (all && !async && !trainer_sleeps && run.algorithm == "ppo")
    run.not_modelled.push_back({"--ds.enable_sleep",
                                "false: actor and critic are trained at the same time on the same GPUs: counted one "
                                "behind the other",
                                place_of(tree, "--train.colocate_all")});
  return {};
}

}  // namespace

base::Status add_openrlhf_watched(const syntax::SettingTree& tree, ImportedRun& run) {
  DOVETAIL_CHECK(watch(tree, "", watched_flags, run));
  for (const char* const flag : gone_flags)
    if (const syntax::Place place = place_of(tree, flag); place.line > 0)
      run.ignored.push_back({flag, "versions since have no such flag", place});
  if (const syntax::Place place = place_of(tree, "--ptx_coef"); place.line > 0)
    run.not_modelled.push_back({"--ptx_coef", "training on pretraining data beside: not counted", place});
  DOVETAIL_TRY(const auto remote, optional_text(tree, "--reward.remote_url"));
  if (remote && remote->find("://") != std::string::npos)
    run.not_modelled.push_back({"--reward.remote_url", "a reward outside of the cluster: counted as no time",
                                place_of(tree, "--reward.remote_url")});
  DOVETAIL_CHECK(add_dependent(tree, run));
  DOVETAIL_CHECK(add_types(tree, run));
  return add_engines(tree, run);
}

}  // namespace dovetail::trainers
