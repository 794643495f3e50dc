#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "trainers/verl/imported.h"
#include "trainers/verl/verl.h"

namespace dovetail::trainers {
namespace {

TEST(VerlConfiguration, ImportsGrpoOnFsdp) {
  const base::Result<Import> read = imported(script_of(grpo_fsdp));
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  const Import& import = *read;
  EXPECT_EQ(import.text,
            "format: dovetail/job@1\n"
            "name: run\n"
            "algorithm: {name: grpo, reference: pass, reward: rule, policy_log_probabilities: trainer}\n"
            "models:\n"
            "  actor: qwen3-8b\n"
            "workload:\n"
            "  prompts: 256\n"
            "  samples_per_prompt: 8\n"
            "  mini_batch: 512\n"
            "  epochs: 1\n"
            "  prompt_length: 1024\n"
            "  response_length: 2048\n"
            "cluster: {nodes: 2, gpus_per_node: 8, gpu: H100-80}\n"
            "software: {framework: verl, training: verl-fsdp, loss_entropy: none}\n");
  const plan::TaskPlan& train = planned(import, "actor_train");
  EXPECT_EQ(train.mesh, (cluster::Mesh{.first = 0, .count = 16}));
  EXPECT_EQ(train.layout.data, 16);
  EXPECT_EQ(train.layout.zero, 3);
  EXPECT_EQ(train.layout.recomputation, llm::Recomputation::full);
  EXPECT_EQ(train.micro_batching, (plan::MicroBatching{.sequences = 0, .tokens = 12288, .count = 0}));
  EXPECT_EQ(planned(import, "actor_infer").micro_batching, train.micro_batching);
  EXPECT_EQ(planned(import, "reference_infer").micro_batching, train.micro_batching);
  EXPECT_TRUE(planned(import, "reference_infer").offload.weights);
  const plan::TaskPlan& generate = planned(import, "actor_generate");
  EXPECT_EQ(generate.layout.data, 8);
  EXPECT_EQ(generate.layout.tensor, 2);
  EXPECT_EQ(generate.engine.memory_utilization, 0.5);
  EXPECT_TRUE(generate.offload.weights) << "the engine sleeps on the trainer's devices";
}

TEST(VerlConfiguration, MegatronPpoUsesTheCriticsLayoutForAllRoles) {
  const base::Result<Import> read =
      imported(script_of(ppo_megatron, " actor_rollout_ref.actor.megatron.context_parallel_size=2"));
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  const Import& import = *read;
  for (const char* task : {"actor_train", "actor_infer", "reference_infer", "critic_infer", "critic_train"}) {
    const llm::Layout& layout = planned(import, task).layout;
    EXPECT_EQ(layout.data, 4) << task;
    EXPECT_EQ(layout.tensor, 2) << task;
    EXPECT_EQ(layout.pipeline, 2) << task;
    EXPECT_EQ(layout.context, 1) << task;
    EXPECT_TRUE(layout.sequence_parallel) << task;
  }
  EXPECT_EQ(planned(import, "actor_train").layout.zero, 1);
  EXPECT_EQ(planned(import, "actor_train").layout.expert_tensor, 2);
  EXPECT_NE(findings_text(import, import.run.ignored)
                .find("context_parallel_size: 2: no effect, because critic.megatron sets it to 1 for all roles"),
            std::string::npos);
}

TEST(VerlConfiguration, GivenLengthsMustNotExceedTheCaps) {
  const auto error_of = [](const ImportOptions& options) {
    const base::Result<Import> read = imported(script_of(grpo_fsdp), options);
    return read.ok() ? "" : base::to_text(read.error());
  };
  EXPECT_EQ(error_of({.prompt_length = "1024", .response_length = "mean=900,p90=2000"}), "");
  EXPECT_EQ(error_of({.response_length = "2049"}),
            "--response-length `2049`: up to 2049 tokens, but the configuration limits responses to 2048; accepted: up "
            "to 2048");
  EXPECT_NE(error_of({.prompt_length = "mean=200,p90=400,cap=4096"}), "");
}

TEST(VerlConfiguration, OnlyTheFirstEnginesDegreesAreUsed) {
  const std::string plan = imported_text(script_of(ppo_megatron)).plan;
  EXPECT_EQ(
      imported_text(script_of(ppo_megatron, " actor_rollout_ref.actor.megatron.tensor_model_parallel_size=3")).plan,
      plan);
  const auto read = imported(script_of(ppo_megatron, " actor_rollout_ref.actor.megatron.tensor_model_parallel_size=1"));
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(planned(*read, "actor_train").layout.tensor, 2);
  EXPECT_FALSE(planned(*read, "actor_train").layout.sequence_parallel) << "verl checks the role's own degree";
}

TEST(VerlConfiguration, RejectsIndivisibleExpertsAtTheirKey) {
  const auto error_of = [](const std::string& more) {
    const base::Result<Import> read = imported(script_of(
        ppo_megatron, " actor_rollout_ref.model.path=Qwen/Qwen3-30B-A3B critic.model.path=Qwen/Qwen3-30B-A3B " + more));
    return read.ok() ? "" : base::to_text(read.error());
  };
  EXPECT_EQ(error_of("critic.megatron.expert_model_parallel_size=8 critic.megatron.expert_tensor_parallel_size=1"), "");
  EXPECT_THAT(error_of("critic.megatron.expert_model_parallel_size=8"),
              testing::HasSubstr("`critic.megatron.expert_model_parallel_size` 8 x "
                                 "critic.megatron.expert_tensor_parallel_size 2 (by default the tensor degree) does "
                                 "not divide the 8 GPUs of a stage, so Megatron-LM rejects the configuration"));
  EXPECT_THAT(error_of("critic.megatron.expert_model_parallel_size=3"),
              testing::HasSubstr("a divisor of the 128 experts"));
}

TEST(VerlConfiguration, FindingsHavePlaces) {
  const ImportedText all =
      imported_text(script_of(grpo_fsdp, " actor_rollout_ref.rollout.quantization=fp8 trainer.bananas=2"));
  EXPECT_NE(all.not_modelled.find("actor_rollout_ref.rollout.quantization: fp8: the engine's matrix products are "
                                  "modeled in bf16; the real run is faster (run.sh:16)"),
            std::string::npos)
      << all.not_modelled;
  EXPECT_NE(all.ignored.find("trainer.bananas: verl v0.9 (1dda039b9) has no such setting (run.sh:16)"),
            std::string::npos)
      << all.ignored;
  EXPECT_NE(all.assumed.find("actor_rollout_ref.model.path: Qwen/Qwen3-8B: the shape of qwen3-8b, guessed from the "
                             "name (run.sh:8)"),
            std::string::npos)
      << all.assumed;
}

struct VerlChange {
  const char* override;
  Where where;
  bool megatron = false;
};

/// Settings that affect time or memory, one at a time.
constexpr VerlChange verl_changes[] = {
    {"data.train_batch_size=512", Where::job},
    {"data.max_prompt_length=2048", Where::job},
    {"data.max_response_length=4096", Where::job},
    {"data.gen_batch_size=512", Where::not_modelled},
    {"actor_rollout_ref.rollout.n=4", Where::job},
    {"actor_rollout_ref.actor.ppo_mini_batch_size=128", Where::job},
    {"actor_rollout_ref.actor.ppo_epochs=2", Where::job},
    {"algorithm.adv_estimator=gae critic.model.path=Qwen/Qwen3-4B", Where::job},
    {"algorithm.adv_estimator=reinforce_plus_plus", Where::job},
    {"actor_rollout_ref.actor.use_kl_loss=False", Where::job},
    {"algorithm.rollout_correction.bypass_mode=True", Where::job},
    {"algorithm.filter_groups.enable=True", Where::not_modelled},
    {"critic.enable=True critic.model.path=Qwen/Qwen3-4B", Where::job},
    {"actor_rollout_ref.model.path=Qwen/Qwen3-4B", Where::job},
    {"actor_rollout_ref.model.lora_rank=32", Where::job},
    {"actor_rollout_ref.model.use_remove_padding=False", Where::job},
    {"actor_rollout_ref.model.enable_gradient_checkpointing=False", Where::plan},
    {"actor_rollout_ref.model.enable_activation_offload=True", Where::not_modelled},
    {"actor_rollout_ref.model.use_fused_kernels=True", Where::job},
    {"actor_rollout_ref.model.use_fused_kernels=True actor_rollout_ref.model.fused_kernel_options.impl_backend=triton",
     Where::job},
    {"actor_rollout_ref.model.use_fused_kernels=True actor_rollout_ref.model.fused_kernel_options.impl_backend=other",
     Where::not_modelled},
    {"actor_rollout_ref.model.use_fused_kernels=True", Where::job, true},
    {"actor_rollout_ref.actor.entropy_coeff=0.001", Where::job},
    {"actor_rollout_ref.actor.entropy_coeff=0.001", Where::job, true},
    {"actor_rollout_ref.actor.calculate_entropy=True", Where::job},
    {"actor_rollout_ref.model.use_liger=True", Where::not_modelled},
    {"+actor_rollout_ref.model.mtp.enable=True", Where::not_modelled},
    {"actor_rollout_ref.model.path=Qwen/Qwen3-VL-8B-Instruct", Where::not_modelled},
    {"actor_rollout_ref.actor.ppo_max_token_len_per_gpu=24576", Where::plan},
    {"actor_rollout_ref.actor.strategy=fsdp2", Where::not_modelled},
    {"actor_rollout_ref.actor.fsdp_config.param_offload=True", Where::plan},
    {"actor_rollout_ref.actor.fsdp_config.optimizer_offload=True", Where::plan},
    {"actor_rollout_ref.actor.fsdp_config.fsdp_size=8", Where::job},
    {"actor_rollout_ref.ref.fsdp_config.fsdp_size=8", Where::not_modelled},
    {"actor_rollout_ref.actor.fsdp_config.reshard_after_forward=False", Where::not_modelled},
    {"actor_rollout_ref.actor.fsdp_config.model_dtype=bfloat16", Where::job},
    {"algorithm.adv_estimator=gae critic.model.path=Qwen/Qwen3-4B critic.fsdp.model_dtype=bf16", Where::not_modelled},
    {"actor_rollout_ref.actor.fsdp_config.offload_policy=True", Where::not_modelled},
    {"actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size=2", Where::plan},
    {"actor_rollout_ref.actor.ulysses_sequence_parallel_size=2", Where::plan},
    {"actor_rollout_ref.actor.entropy_from_logits_with_chunking=True", Where::not_modelled},
    {"actor_rollout_ref.actor.entropy_checkpointing=True", Where::not_modelled},
    {"actor_rollout_ref.ref.fsdp_config.param_offload=True", Where::ignored},
    {"actor_rollout_ref.ref.fsdp_config.ulysses_sequence_parallel_size=2", Where::plan},
    {"actor_rollout_ref.ref.log_prob_max_token_len_per_gpu=32768", Where::plan},
    {"actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=32768", Where::plan},
    {"actor_rollout_ref.rollout.name=sglang", Where::not_modelled},
    {"actor_rollout_ref.rollout.tensor_model_parallel_size=4", Where::plan},
    {"actor_rollout_ref.rollout.pipeline_model_parallel_size=2", Where::plan},
    {"actor_rollout_ref.rollout.data_parallel_size=2", Where::not_modelled},
    {"actor_rollout_ref.rollout.gpu_memory_utilization=0.7", Where::plan},
    {"actor_rollout_ref.rollout.max_num_seqs=512", Where::plan},
    {"actor_rollout_ref.rollout.max_num_batched_tokens=16384", Where::plan},
    {"actor_rollout_ref.rollout.max_model_len=2048", Where::job},
    {"actor_rollout_ref.rollout.enforce_eager=True", Where::plan},
    {"actor_rollout_ref.rollout.free_cache_engine=False", Where::plan},
    {"actor_rollout_ref.rollout.enable_chunked_prefill=False", Where::plan},
    {"actor_rollout_ref.rollout.dtype=float16", Where::not_modelled},
    {"actor_rollout_ref.rollout.quantization=fp8", Where::not_modelled},
    {"actor_rollout_ref.rollout.quantization=fp8", Where::job},
    {"actor_rollout_ref.rollout.quantization=torchao", Where::not_modelled},
    {"actor_rollout_ref.rollout.multi_turn.enable=True", Where::not_modelled},
    {"actor_rollout_ref.rollout.checkpoint_engine.backend=nccl", Where::not_modelled},
    {"actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes=4096", Where::job},
    {"+actor_rollout_ref.rollout.engine_kwargs.vllm.block_size=32", Where::not_modelled},
    {"trainer.nnodes=4", Where::job},
    {"trainer.n_gpus_per_node=4", Where::job},
    {"trainer.balance_batch=False", Where::not_modelled},
    {"trainer.v1.trainer_mode=colocate_async", Where::not_modelled},
    {"actor_rollout_ref.actor.megatron.sequence_parallel=False", Where::plan, true},
    {"actor_rollout_ref.actor.megatron.use_distributed_optimizer=False", Where::plan, true},
    {"actor_rollout_ref.actor.megatron.param_offload=True", Where::plan, true},
    {"actor_rollout_ref.actor.megatron.optimizer_offload=True", Where::plan, true},
    {"actor_rollout_ref.actor.megatron.grad_offload=True", Where::ignored, true},
    {"actor_rollout_ref.actor.megatron.tensor_model_parallel_size=4", Where::ignored, true},
    {"actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=full", Where::plan, true},
    {"actor_rollout_ref.actor.megatron.override_transformer_config.recompute_granularity=selective "
     "actor_rollout_ref.actor.megatron.override_transformer_config.recompute_modules=[moe]",
     Where::plan, true},
    {"+actor_rollout_ref.actor.megatron.override_transformer_config.num_layers_in_first_pipeline_stage=20", Where::plan,
     true},
    {"+actor_rollout_ref.actor.megatron.override_transformer_config.moe_permute_fusion=True", Where::not_modelled,
     true},
    {"+actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload=True "
     "+actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_offload_fraction=1",
     Where::plan, true},
    {"+actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload=True "
     "+actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_offload_fraction=0.5",
     Where::job, true},
    {"+actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_cpu_offload=True", Where::ignored, true},
    {"+actor_rollout_ref.actor.optim.override_optimizer_config.optimizer_offload_fraction=0.5", Where::job, true},
    {"actor_rollout_ref.actor.optim.use_precision_aware_optimizer=True", Where::not_modelled, true},
    {"actor_rollout_ref.actor.optim.use_precision_aware_optimizer=True critic.optim.use_precision_aware_optimizer=True",
     Where::job, true},
    {"actor_rollout_ref.ref.megatron.param_offload=True", Where::plan, true},
    {"critic.megatron.tensor_model_parallel_size=4", Where::plan, true},
    {"critic.megatron.pipeline_model_parallel_size=4", Where::plan, true},
    {"critic.megatron.virtual_pipeline_model_parallel_size=2", Where::plan, true},
    {"critic.megatron.context_parallel_size=2", Where::plan, true},
    {"critic.megatron.param_offload=True", Where::plan, true},
    {"critic.model.path=Qwen/Qwen3-4B", Where::job, true},
    {"critic.ppo_micro_batch_size_per_gpu=2", Where::plan, true},
    {"critic.ppo_epochs=2", Where::job, true},
    {"critic.ppo_mini_batch_size=128", Where::job, true},
    {"critic.ppo_mini_batch_size=100", Where::not_modelled, true},
    {"actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1", Where::plan, true},
    {"actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=8", Where::plan, true},
    {"actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=8", Where::plan, true},
};

class VerlChangedSetting : public testing::TestWithParam<VerlChange> {};

TEST_P(VerlChangedSetting, AffectsTheExpectedResult) {
  const VerlChange& changed = GetParam();
  const std::vector<std::string>& settings = changed.megatron ? ppo_megatron : grpo_fsdp;
  const ImportedText before = imported_text(script_of(settings));
  const ImportedText after = imported_text(script_of(settings, std::string(" ") + changed.override));
  expect_changed(before, after, changed.where);
}

INSTANTIATE_TEST_SUITE_P(Verl, VerlChangedSetting, testing::ValuesIn(verl_changes));

TEST(VerlConfiguration, AcceptsOldNames) {
  const std::pair<const char*, const char*> drift[] = {
      {"critic.model.fsdp_config.param_offload=True", "critic.fsdp.param_offload=True"},
      {"reward_model.enable=True reward_model.model.path=Qwen/Qwen3-4B",
       "reward.reward_model.enable=True reward.reward_model.model_path=Qwen/Qwen3-4B"},
      {"actor_rollout_ref.actor.ulysses_sequence_parallel_size=2",
       "actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size=2 "
       "actor_rollout_ref.ref.fsdp_config.ulysses_sequence_parallel_size=2"},
  };
  for (const auto& [old_name, name] : drift) {
    const std::string more = " algorithm.adv_estimator=gae critic.model.path=Qwen/Qwen3-4B ";
    const ImportedText before = imported_text(script_of(grpo_fsdp, more + old_name));
    const ImportedText now = imported_text(script_of(grpo_fsdp, more + name));
    EXPECT_EQ(before.job, now.job) << old_name;
    EXPECT_EQ(before.plan, now.plan) << old_name;
    EXPECT_NE(before.plan, imported_text(script_of(grpo_fsdp, more)).plan) << old_name;
    EXPECT_EQ(before.ignored, now.ignored) << old_name;
  }
  std::vector<std::string> named = ppo_megatron;
  named.front() = "--config-name=ppo_megatron_trainer.yaml";
  EXPECT_EQ(imported_text(script_of(named)).plan, imported_text(script_of(ppo_megatron)).plan);
  std::vector<std::string> overrides = ppo_megatron;
  overrides.front() = "actor_rollout_ref.actor.strategy=megatron";
  EXPECT_EQ(imported_text(script_of(overrides)).plan, imported_text(script_of(ppo_megatron)).plan);
}

/// Returns the `software` section of a job.
std::string software_line(const ImportedText& run) {
  const std::size_t begin = run.job.find("software: ");
  return run.job.substr(begin, run.job.find('\n', begin) - begin);
}

TEST(VerlConfiguration, TypesAndLogitsOfAllRolesAreInTheJob) {
  const std::string types = "weight_type: bf16, gradient_type: bf16, moment_type: bf16";
  EXPECT_EQ(software_line(imported_text(script_of(grpo_fsdp,
                                                  " actor_rollout_ref.actor.fsdp_config.model_dtype=bf16 "
                                                  "actor_rollout_ref.model.use_fused_kernels=True"))),
            "software: {framework: verl, training: verl-fsdp, " + types + ", logit_tokens: 512, loss_entropy: none}");
  // A type of only one role cannot be expressed.
  const std::string more =
      " algorithm.adv_estimator=gae critic.model.path=Qwen/Qwen3-4B "
      "actor_rollout_ref.actor.fsdp_config.model_dtype=bf16";
  EXPECT_EQ(software_line(imported_text(script_of(grpo_fsdp, more))),
            "software: {framework: verl, training: verl-fsdp, loss_entropy: none}");
  EXPECT_EQ(software_line(imported_text(script_of(grpo_fsdp, more + " critic.fsdp.model_dtype=bf16"))),
            "software: {framework: verl, training: verl-fsdp, " + types + ", loss_entropy: none}");
  const std::string aware =
      " actor_rollout_ref.actor.optim.use_precision_aware_optimizer=True "
      "critic.optim.use_precision_aware_optimizer=True";
  EXPECT_EQ(software_line(imported_text(script_of(ppo_megatron, aware))),
            "software: {framework: verl, training: megatron-policy, master_type: remainder, loss_entropy: none, "
            "engine: sglang}");
  EXPECT_EQ(
      software_line(imported_text(script_of(ppo_megatron, aware + " actor_rollout_ref.actor.optim.exp_avg_dtype=bf16 "
                                                                  "actor_rollout_ref.actor.optim.exp_avg_sq_dtype=bf16 "
                                                                  "critic.optim.exp_avg_dtype=bf16 "
                                                                  "critic.optim.exp_avg_sq_dtype=bf16"))),
      "software: {framework: verl, training: megatron-policy, moment_type: bf16, master_type: "
      "remainder, loss_entropy: none, engine: sglang}");
  for (const char* key : {"main_grads_dtype", "exp_avg_dtype", "exp_avg_sq_dtype"}) {
    const auto read = imported(script_of(ppo_megatron, aware + " actor_rollout_ref.actor.optim." + key + "=fp16"));
    ASSERT_FALSE(read.ok()) << key;
    EXPECT_NE(read.error().message.find("is fp16; accepted: fp32, bf16"), std::string::npos)
        << base::to_text(read.error());
  }
}

TEST(VerlConfiguration, ShardGroupsApplyToAllTrainedRoles) {
  const ImportedText groups = imported_text(script_of(grpo_fsdp,
                                                      " actor_rollout_ref.actor.fsdp_config.fsdp_size=8 "
                                                      "actor_rollout_ref.ref.fsdp_config.fsdp_size=8"));
  EXPECT_EQ(software_line(groups),
            "software: {framework: verl, training: verl-fsdp, loss_entropy: none, shard_group: 8}");
  EXPECT_EQ(groups.not_modelled, imported_text(script_of(grpo_fsdp)).not_modelled);
  EXPECT_EQ(imported_text(script_of(grpo_fsdp, " actor_rollout_ref.actor.fsdp_config.fsdp_size=16")).job,
            imported_text(script_of(grpo_fsdp)).job)
      << "all GPUs are one group";
  const auto rejected = imported(script_of(grpo_fsdp, " actor_rollout_ref.actor.fsdp_config.fsdp_size=3"));
  ASSERT_FALSE(rejected.ok());
  EXPECT_NE(rejected.error().message.find("accepted: -1, or a divisor of the 16 GPUs"), std::string::npos);
}

TEST(VerlConfiguration, TheCriticHasItsOwnMiniBatches) {
  const base::Result<Import> read =
      imported(script_of(ppo_megatron, " critic.ppo_mini_batch_size=64 critic.ppo_epochs=3"));
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->job.workload.mini_batches, 2);
  EXPECT_EQ(read->job.workload.critic, (workflow::OwnTraining{8, 3}));
}

TEST(VerlConfiguration, GlobalMicroBatchesAreSplitOverRanks) {
  const char* off = " actor_rollout_ref.actor.use_dynamic_bsz=False";
  const std::string others =
      " actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4 "
      "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=4";
  EXPECT_EQ(
      imported_text(script_of(grpo_fsdp, off + others + " actor_rollout_ref.actor.ppo_micro_batch_size=64")).plan,
      imported_text(script_of(grpo_fsdp, off + others + " actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4"))
          .plan);
}

TEST(VerlConfiguration, GlobalMicroBatchesOfTheCriticAreSplitOverRanks) {
  std::vector<std::string> megatron = ppo_megatron;
  std::erase(megatron, "critic.ppo_micro_batch_size_per_gpu=4");
  EXPECT_EQ(imported_text(script_of(megatron, " critic.ppo_micro_batch_size=16")).plan,
            imported_text(script_of(ppo_megatron)).plan);
  const auto of_fsdp = [](const std::string& more) {
    return imported_text(
               script_of(
                   grpo_fsdp,
                   " algorithm.adv_estimator=gae critic.model.path=Qwen/Qwen3-8B critic.use_dynamic_bsz=False" + more))
        .plan;
  };
  const std::string of_rank = of_fsdp(" critic.ppo_micro_batch_size_per_gpu=2");
  EXPECT_EQ(of_fsdp(" critic.ppo_micro_batch_size=32"), of_rank);
  const std::string own = of_fsdp(" critic.ppo_micro_batch_size_per_gpu=2 critic.forward_micro_batch_size_per_gpu=4");
  EXPECT_EQ(of_fsdp(" critic.ppo_micro_batch_size=32 critic.forward_micro_batch_size=64"), own);
  EXPECT_NE(own, of_rank);
}

TEST(VerlConfiguration, SeparateEnginesFollowTheTrainer) {
  const base::Result<Import> read = imported(script_of(
      grpo_fsdp, " trainer.v1.trainer_mode=separate_async actor_rollout_ref.rollout.nnodes=1 trainer.nnodes=1"));
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(planned(*read, "actor_generate").mesh, (cluster::Mesh{.first = 8, .count = 8}));
  EXPECT_EQ(planned(*read, "actor_train").mesh, (cluster::Mesh{.first = 0, .count = 8}));
  EXPECT_EQ(read->job.workload.steps_off_policy, 1);
}

struct Refused {
  const char* more;
  const char* message;  ///< part of the message
};

TEST(VerlConfiguration, RejectsUnsupportedConfigurations) {
  const Refused all[] = {
      {"actor_rollout_ref.actor.ppo_mini_batch_size=512", "accepted: a divisor of data.train_batch_size (256)"},
      {"actor_rollout_ref.actor.ppo_mini_batch_size=100", "accepted: a divisor of data.train_batch_size (256)"},
      {"actor_rollout_ref.rollout.tensor_model_parallel_size=3", "does not divide the 16 GPUs"},
      {"actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size=3", "accepted: a divisor of the 16 GPUs"},
      {"actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size=2 "
       "actor_rollout_ref.model.use_remove_padding=False",
       "is 2 without actor_rollout_ref.model.use_remove_padding"},
      {"actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=False", "differs from"},
      {"actor_rollout_ref.actor.use_dynamic_bsz=False", "is missing, which verl rejects"},
      {"actor_rollout_ref.actor.strategy=veomni", "accepted: fsdp, fsdp2, megatron"},
      {"model_engine=veomni", "accepted: dp, fsdp, megatron"},
      {"actor_rollout_ref.rollout.name=hf", "accepted: vllm, sglang, trtllm"},
      {"distillation.enabled=True", "accepted: false"},
      {"data.train_batch_size=many", "accepted: an integer"},
      {"trainer.nnodes=0", "accepted: at least 1"},
      {"actor_rollout_ref.model.path=x/Nothing-9B", "accepted: --model actor=NAME"},
      {"data.train_batch_size=$(wc -l < prompts)", "`data.train_batch_size` depends on an unknown value"},
      {"--config-name=mine", "accepted: ppo_trainer, ppo_megatron_trainer"},
  };
  for (const Refused& rejected : all) {
    const base::Result<Import> read = imported(script_of(grpo_fsdp, std::string(" ") + rejected.more));
    ASSERT_FALSE(read.ok()) << rejected.more;
    EXPECT_NE(read.error().message.find(rejected.message), std::string::npos)
        << rejected.more << ": " << base::to_text(read.error());
  }
  for (const char* entry : {"verl.trainer.main_generation", "recipe.dapo.main_dapo"})
    EXPECT_FALSE(imported(std::string("#!/bin/bash\npython3 -m ") + entry + " a=1\n").ok()) << entry;
}

TEST(VerlConfiguration, AppliesTheUsersOptions) {
  ImportOptions options;
  options.gpu = "A100-40";
  options.models = {"actor=qwen3-14b"};
  options.response_length = "mean=900,p90=1800";
  options.prompt_length = "200";
  options.arguments = {"trainer.nnodes=1"};
  const ImportedText all = imported_text(script_of(grpo_fsdp), options);
  EXPECT_NE(all.job.find("cluster: {nodes: 1, gpus_per_node: 8, gpu: A100-40}"), std::string::npos) << all.job;
  EXPECT_NE(all.job.find("actor: qwen3-14b"), std::string::npos);
  EXPECT_NE(all.job.find("response_length: {mean: 900, p90: 1800, cap: 2048}"), std::string::npos);
  EXPECT_NE(all.job.find("prompt_length: 200\n"), std::string::npos);
  EXPECT_EQ(all.assumed.find("length"), std::string::npos) << all.assumed;
  options.gpu.reset();
  options.cluster = "4x8xH200";
  EXPECT_NE(imported_text(script_of(grpo_fsdp), options).job.find("cluster: {nodes: 4, gpus_per_node: 8, gpu: H200}"),
            std::string::npos);
  for (const char* wrong : {"p90", "p90=", "=9", "p90=1;", ""}) {
    options.response_length = wrong;
    EXPECT_FALSE(imported(script_of(grpo_fsdp), options).ok()) << wrong;
  }
  options.response_length.reset();
  for (const char* wrong : {"4x8xX900", "nowhere.yaml", "0x8xH100"}) {
    options.cluster = wrong;
    EXPECT_FALSE(imported(script_of(grpo_fsdp), options).ok()) << wrong;
  }
}

TEST(VerlConfiguration, ResolvedConfigurationEqualsTheScript) {
  const std::string resolved =
      "actor_rollout_ref:\n"
      "  model: {path: Qwen/Qwen3-8B}\n"
      "  actor: {strategy: fsdp, ppo_mini_batch_size: 64, use_dynamic_bsz: true, ppo_max_token_len_per_gpu: 12288, "
      "use_kl_loss: true}\n"
      "  rollout: {name: vllm, n: 8}\n"
      "algorithm: {adv_estimator: grpo}\n"
      "data: {train_batch_size: 256, max_prompt_length: 1024, max_response_length: 2048}\n"
      "trainer: {nnodes: 2, n_gpus_per_node: 8}\n";
  const std::string wrapped =
      "wandb_version: 1\n"
      "actor_rollout_ref:\n  desc: null\n  value:\n"
      "    model: {path: Qwen/Qwen3-8B}\n"
      "    actor: {strategy: fsdp, ppo_mini_batch_size: 64, use_dynamic_bsz: true, ppo_max_token_len_per_gpu: 12288, "
      "use_kl_loss: true}\n"
      "    rollout: {name: vllm, n: 8}\n"
      "algorithm:\n  value: {adv_estimator: grpo}\n"
      "data:\n  value: {train_batch_size: 256, max_prompt_length: 1024, max_response_length: 2048}\n"
      "trainer:\n  value: {nnodes: 2, n_gpus_per_node: 8}\n";
  const ImportedText script = imported_text(script_of(grpo_fsdp));
  for (const std::string& content : {resolved, wrapped}) {
    EXPECT_TRUE(is_foreign("run.yaml", content));
    const base::Result<Import> read = import_run("run.yaml", content, {});
    ASSERT_TRUE(read.ok()) << base::to_text(read.error());
    EXPECT_EQ(read->text, script.job);
    EXPECT_EQ(plan_text(*read), script.plan);
  }
}

}  // namespace
}  // namespace dovetail::trainers
