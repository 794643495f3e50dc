// Effect of each OpenRLHF flag: which result it changes, whether it has none, or whether it is rejected.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <string_view>

#include "trainers/openrlhf/openrlhf.h"
#include "trainers/openrlhf/scripts.h"

namespace dovetail::trainers {
namespace {

/// A flag, the script to which it is added, and the result that it affects.
struct OpenrlhfChange {
  const char* flag;
  Where where;
  const std::string& script = openrlhf_ppo;
  std::string given = {};  ///< flags that both runs have

  std::string_view name() const {
    const std::string_view all = flag;
    return all.substr(0, all.find(' '));
  }
};

const std::string dynamic_batches = "--train.dynamic_batch_enable";
const std::string asynchronous = "--train.async_enable";

const OpenrlhfChange openrlhf_changes[] = {
    // Devices.
    {"--actor.num_nodes 2", Where::job, openrlhf_apart},
    {"--actor.num_gpus_per_node 4", Where::job, openrlhf_apart},
    {"--ref.num_nodes 2", Where::job, openrlhf_apart},
    {"--ref.num_gpus_per_node 4", Where::job, openrlhf_apart},
    {"--critic.num_nodes 2", Where::job, openrlhf_apart},
    {"--critic.num_gpus_per_node 4", Where::job, openrlhf_apart},
    {"--reward.num_nodes 2", Where::job, openrlhf_apart},
    {"--reward.num_gpus_per_node 4", Where::job, openrlhf_apart},
    {"--train.colocate_actor_ref", Where::job, openrlhf_apart},
    {"--train.colocate_critic_reward", Where::job, openrlhf_apart},
    {"--train.colocate_all", Where::job, openrlhf_apart},
    {"--train.async_enable", Where::job, openrlhf_apart},
    {"--train.async_queue_size 2", Where::not_modelled, openrlhf_apart, asynchronous},
    {"--train.partial_rollout_enable", Where::not_modelled, openrlhf_apart, asynchronous},
    // Engines.
    {"--vllm.num_engines 8", Where::job, openrlhf_apart},
    {"--vllm.num_engines 2 --vllm.tensor_parallel_size 4", Where::plan},
    {"--vllm.tensor_parallel_size 4", Where::job, openrlhf_apart},
    {"--vllm.gpu_memory_utilization 0.5", Where::plan},
    {"--vllm.enforce_eager", Where::plan},
    {"--vllm.enable_sleep", Where::ignored, openrlhf_apart},
    {"--vllm.enable_prefix_caching", Where::not_modelled},
    {"--vllm.sync_backend gloo", Where::not_modelled},
    {"--vllm.sync_with_ray", Where::not_modelled},
    // Trainer.
    {"--ds.zero_stage 2", Where::plan},
    {"--ds.zpg 8", Where::not_modelled},
    {"--ds.tensor_parallel_size 2", Where::plan},
    {"--ds.ring_attn_size 2", Where::plan},
    {"--ds.ring_attn_head_stride 2", Where::not_modelled, openrlhf_ppo, "--ds.ring_attn_size 2"},
    {"--ds.adam_offload", Where::plan},
    {"--ds.enable_sleep", Where::plan, openrlhf_apart},
    {"--ds.packing_samples", Where::job, openrlhf_apart},
    {"--ds.param_dtype fp16", Where::not_modelled},
    {"--ds.grad_accum_dtype fp32", Where::job},
    {"--ds.load_in_4bit", Where::not_modelled},
    {"--ds.lora.rank 16", Where::job},
    {"--ds.lora.target_modules q_proj", Where::not_modelled, openrlhf_ppo, "--ds.lora.rank 16"},
    {"--ds.overlap_comm", Where::not_modelled},
    {"--ds.deepcompile", Where::not_modelled},
    {"--ds.use_liger_kernel", Where::not_modelled},
    {"--ds.attn_implementation eager", Where::not_modelled},
    {"--ds.experts_implementation grouped_mm", Where::not_modelled, openrlhf_experts},
    {"--actor.gradient_checkpointing_enable", Where::plan},
    {"--actor.gradient_checkpointing_reentrant", Where::not_modelled},
    {"--actor.optim muon", Where::not_modelled},
    {"--critic.optim muon", Where::not_modelled},
    {"--actor.entropy_coef 0.01", Where::job},
    {"--actor.entropy_coef 0", Where::job},
    {"--actor.freeze_visual_encoder", Where::not_modelled},
    {"--critic.freezing_steps 5", Where::not_modelled},
    {"--train.enable_ema", Where::not_modelled},
    {"--train.full_determinism_enable", Where::not_modelled},
    {"--ref.offload", Where::plan},
    {"--ref.offload", Where::not_modelled},
    {"--reward.offload", Where::plan},
    {"--reward.offload", Where::not_modelled},
    {"--ref_reward_offload", Where::plan},
    // Batches.
    {"--rollout.batch_size 128", Where::job},
    {"--rollout.n_samples_per_prompt 4", Where::job},
    {"--rollout.max_new_tokens 512", Where::job},
    {"--rollout.micro_batch_size 4", Where::plan},
    {"--rollout.max_tokens_per_gpu 8192", Where::plan, openrlhf_ppo, dynamic_batches},
    {"--rollout.vllm_generate_batch_size 128", Where::not_modelled},
    {"--rollout.vllm_generate_batch_size 512", Where::not_modelled, openrlhf_apart, asynchronous},
    {"--train.batch_size 64", Where::job},
    {"--train.max_epochs 2", Where::job},
    {"--train.micro_batch_size 4", Where::plan},
    {"--train.dynamic_batch_enable", Where::plan},
    {"--train.max_tokens_per_gpu 8192", Where::plan, openrlhf_ppo, dynamic_batches},
    {"--data.max_len 4096", Where::job},
    {"--data.max_images_per_prompt 1", Where::not_modelled, openrlhf_ruled},
    {"--prompt_max_len 512", Where::job},
    // Learning.
    {"--actor.model_name_or_path Qwen/Qwen3-4B", Where::job},
    {"--critic.model_name_or_path Qwen/Qwen3-8B", Where::job},
    {"--reward.model_name_or_path Qwen/Qwen3-1.7B", Where::job},
    {"--reward.remote_url rule.py", Where::job},
    {"--reward.remote_url http://a/b", Where::not_modelled, openrlhf_ruled},
    {"--train.agent_func_path agent.py", Where::job},
    {"--train.agent_func_path agent.py", Where::not_modelled, openrlhf_ruled},
    {"--algo.advantage.estimator group_norm", Where::job},
    {"--algo.kl.init_coef 0", Where::job},
    {"--algo.dynamic_filtering_enable", Where::not_modelled, openrlhf_ruled},
    {"--ptx_coef 0.1", Where::not_modelled},
    // Removed flags.
    {"--bf16", Where::ignored},
    {"--flash_attn", Where::ignored},
    {"--perf", Where::ignored},
    {"--actor_init_on_gpu", Where::ignored},
};

/// Prefixes of flags that affect neither time nor memory: learning rates, data, logs, checkpoints and evaluation.
constexpr std::array without_effect = std::to_array<std::string_view>({"--algo.advantage.is_correction",
                                                                       "--algo.advantage.lambd",
                                                                       "--algo.advantage.gamma",
                                                                       "--algo.advantage.no_std_norm",
                                                                       "--algo.dynamic_filtering_range",
                                                                       "--algo.kl.target",
                                                                       "--algo.kl.horizon",
                                                                       "--algo.kl.estimator",
                                                                       "--algo.kl.use_loss",
                                                                       "--actor.adam.",
                                                                       "--actor.muon.",
                                                                       "--actor.lr_",
                                                                       "--actor.min_lr_ratio",
                                                                       "--actor.max_norm",
                                                                       "--actor.eps_clip",
                                                                       "--actor.dual_clip",
                                                                       "--actor.policy_loss_type",
                                                                       "--actor.aux_loss_coef",
                                                                       "--critic.adam.",
                                                                       "--critic.muon.",
                                                                       "--critic.lr_",
                                                                       "--critic.min_lr_ratio",
                                                                       "--critic.max_norm",
                                                                       "--critic.value_clip",
                                                                       "--critic.save_value_network",
                                                                       "--ckpt.",
                                                                       "--eval.",
                                                                       "--logger.",
                                                                       "--data.prompt_",
                                                                       "--data.input_",
                                                                       "--data.label_key",
                                                                       "--data.image_key",
                                                                       "--data.apply_chat_template",
                                                                       "--data.max_samples",
                                                                       "--data.disable_fast_tokenizer",
                                                                       "--data.dataloader_num_workers",
                                                                       "--ds.lora.alpha",
                                                                       "--ds.lora.dropout",
                                                                       "--ds.use_universal_ckpt",
                                                                       "--ds.value_head_prefix",
                                                                       "--reward.normalize_enable",
                                                                       "--reward.clip_range",
                                                                       "--reward.overlong_",
                                                                       "--reward.stop_properly_",
                                                                       "--rollout.top_p",
                                                                       "--rollout.temperature",
                                                                       "--train.num_episodes",
                                                                       "--train.ema_beta",
                                                                       "--train.seed",
                                                                       "--local_rank",
                                                                       "--use_ms"});

class OpenrlhfChangedFlag : public testing::TestWithParam<OpenrlhfChange> {};

void PrintTo(const OpenrlhfChange& change, std::ostream* out) { *out << change.flag; }

TEST_P(OpenrlhfChangedFlag, AffectsTheExpectedResult) {
  const OpenrlhfChange& changed = GetParam();
  expect_changed(imported_text(changed.script + changed.given),
                 imported_text(fmt::format("{}{} {}", changed.script, changed.given, changed.flag)), changed.where);
}

TEST_P(OpenrlhfChangedFlag, OlderNamesAreEquivalent) {
  const OpenrlhfChange& changed = GetParam();
  const auto flags = openrlhf_flags();
  const auto flag =
      std::find_if(flags.begin(), flags.end(), [&](const syntax::Flag& each) { return each.name == changed.name(); });
  ASSERT_NE(flag, flags.end());
  const ImportedText now = imported_text(fmt::format("{}{} {}", changed.script, changed.given, changed.flag));
  const std::string value = std::string(changed.flag).substr(changed.name().size());
  std::string_view names = flag->older_names;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find('|'));
    const ImportedText before = imported_text(fmt::format("{}{} {}{}", changed.script, changed.given, name, value));
    EXPECT_EQ(before.job, now.job) << name;
    EXPECT_EQ(before.plan, now.plan) << name;
    names.remove_prefix(std::min(name.size() + 1, names.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(Openrlhf, OpenrlhfChangedFlag, testing::ValuesIn(openrlhf_changes));

TEST(OpenrlhfFlags, EachIsTestedOrHasNoEffect) {
  for (const syntax::Flag& flag : openrlhf_flags()) {
    const bool changed = std::any_of(std::begin(openrlhf_changes), std::end(openrlhf_changes),
                                     [&](const OpenrlhfChange& change) { return change.name() == flag.name; });
    const bool idle = std::any_of(without_effect.begin(), without_effect.end(),
                                  [&](std::string_view begin) { return flag.name.starts_with(begin); });
    EXPECT_NE(changed, idle) << flag.name;
  }
}

TEST(OpenrlhfConfiguration, RejectsFlagsThatStopOpenrlhf) {
  for (const char* flag :
       {"--vllm.num_engines 3", "--ref.num_gpus_per_node 4", "--algo.advantage.estimator rloo --rollout.n_samples 1",
        "--vllm.num_engines 0", "--train.async_enable", "--train.partial_rollout_enable", "--eval.dataset a",
        "--rollout.vllm_generate_batch_size 512", "--algo.dynamic_filtering_enable", "--ds.packing_samples=1",
        "--data.max_images_per_prompt 1", "--rollout.micro_batch_size 256", "--train.batch_size many",
        "--train.batch_size", "--train.col", "--algo.advantage.estimator banana", "--train.batch_size 100"}) {
    const auto read = imported(openrlhf_ppo + flag);
    ASSERT_FALSE(read.ok()) << flag;
    EXPECT_GT(read.error().line, 0) << flag << ": " << base::to_text(read.error());
  }
}

}  // namespace
}  // namespace dovetail::trainers
