#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "trainers/changed_base.h"
#include "trainers/imported.h"
#include "trainers/nemo_rl/nemo_rl.h"

namespace dovetail::trainers {
namespace {

/// Megatron training that inherits from the bundled base file.
constexpr const char* megatron_grpo =
    "defaults: ../grpo_math_1B.yaml\n"
    "grpo: {num_prompts_per_step: 64, num_generations_per_prompt: 32}\n"
    "policy:\n"
    "  model_name: Qwen/Qwen3-30B-A3B\n"
    "  train_global_batch_size: 512\n"
    "  train_micro_batch_size: 1\n"
    "  logprob_batch_size: 2\n"
    "  max_total_sequence_length: 4096\n"
    "  dtensor_cfg: {enabled: false}\n"
    "  megatron_cfg:\n"
    "    enabled: true\n"
    "    tensor_model_parallel_size: 2\n"
    "    pipeline_model_parallel_size: 2\n"
    "    expert_model_parallel_size: 8\n"
    "    sequence_parallel: true\n"
    "  generation:\n"
    "    vllm_cfg: {tensor_parallel_size: 4}\n"
    "cluster: {gpus_per_node: 8, num_nodes: 4}\n";

/// DTensor training that inherits from the bundled base file.
constexpr const char* dtensor_grpo =
    "defaults: grpo_math_1B.yaml\n"
    "grpo: {num_prompts_per_step: 64, num_generations_per_prompt: 8}\n"
    "policy:\n"
    "  model_name: Qwen/Qwen2.5-7B\n"
    "  max_total_sequence_length: 2048\n"
    "  dtensor_cfg: {tensor_parallel_size: 2, sequence_parallel: true}\n"
    "cluster: {gpus_per_node: 8, num_nodes: 2}\n";

/// PPO with DTensor.
constexpr const char* dtensor_ppo =
    "defaults: ppo_math_1B.yaml\n"
    "ppo: {num_prompts_per_step: 64, num_generations_per_prompt: 8}\n"
    "policy: {model_name: Qwen/Qwen3-8B}\n"
    "cluster: {gpus_per_node: 8, num_nodes: 1}\n";

/// Generation on half of the nodes, concurrent with training.
constexpr const char* colocated =
    "policy.generation.colocated.enabled=false policy.generation.colocated.resources.num_nodes=2 "
    "policy.generation.colocated.resources.gpus_per_node=8";
const std::string async = std::string(colocated) +
                          " grpo.async_grpo.enabled=true loss_fn.use_importance_sampling_correction=true "
                          "policy.generation.vllm_cfg.async_engine=true";

/// Returns options with these overrides, which are separated by spaces.
ImportOptions with(const std::string& overrides) {
  ImportOptions options;
  std::size_t begin = 0;
  while (begin < overrides.size()) {
    const std::size_t end = std::min(overrides.find(' ', begin), overrides.size());
    if (end > begin) options.arguments.push_back(overrides.substr(begin, end - begin));
    begin = end + 1;
  }
  return options;
}

base::Result<Import> nemo_rl(const char* file, const std::string& overrides = {}) {
  return import_run("run.yaml", file, with(overrides));
}

ImportedText nemo_rl_text(const char* file, const std::string& overrides = {}) {
  return imported_text_of("run.yaml", file, with(overrides));
}

TEST(NemoRlConfiguration, ImportsGrpoOnMegatron) {
  const base::Result<Import> read = nemo_rl(megatron_grpo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->trainer, "nemo-rl");
  EXPECT_EQ(read->text,
            "format: dovetail/job@1\n"
            "name: run\n"
            "algorithm: {name: grpo, reference: pass, reward: rule, policy_log_probabilities: trainer}\n"
            "models:\n"
            "  actor: qwen3-30b-a3b\n"
            "workload:\n"
            "  prompts: 64\n"
            "  samples_per_prompt: 32\n"
            "  mini_batch: 512\n"
            "  epochs: 1\n"
            "  prompt_length: 512\n"
            "  response_length: 3584\n"
            "cluster: {nodes: 4, gpus_per_node: 8, gpu: H100-80}\n"
            "software: {framework: nemo-rl, training: nemo-rl-megatron}\n");
  const plan::TaskPlan& train = planned(*read, "actor_train");
  EXPECT_EQ(train.mesh, (cluster::Mesh{.first = 0, .count = 32}));
  EXPECT_EQ(llm::to_text(train.layout), "dp8 tp2 pp2 ep8 zero1 sp");
  EXPECT_EQ(train.micro_batching, (plan::MicroBatching{.sequences = 0, .tokens = 4096, .count = 0}));
  EXPECT_EQ(train.offload, (plan::Offload{.weights = true, .gradients = true, .optimizer = true}));
  const plan::TaskPlan& pass = planned(*read, "actor_infer");
  EXPECT_EQ(pass.layout, train.layout);
  EXPECT_EQ(pass.micro_batching.tokens, 8192);
  EXPECT_EQ(planned(*read, "reference_infer").layout, train.layout);
  EXPECT_TRUE(planned(*read, "reference_infer").offload.weights);
  const plan::TaskPlan& generate = planned(*read, "actor_generate");
  EXPECT_EQ(llm::to_text(generate.layout), "dp8 tp4 pp1");
  EXPECT_EQ(generate.engine.memory_utilization, 0.6);
}

TEST(NemoRlConfiguration, GivenLengthsShareTheTotalCap) {
  ImportOptions options;
  options.prompt_length = "mean=250,p90=500";
  options.response_length = "mean=900,p90=2000";
  const base::Result<Import> read = import_run("run.yaml", megatron_grpo, options);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("  prompt_length: {mean: 250, p90: 500, cap: 4095}\n"
                            "  response_length: {mean: 900, p90: 2000, cap: 4095}\n"
                            "  sequence_cap: 4096\n"),
            std::string::npos)
      << read->text;
  EXPECT_EQ(read->job.workload.max_sequence(), 4096);
}

TEST(NemoRlConfiguration, DTensorShardsOverAllRemainingRanks) {
  const base::Result<Import> read = nemo_rl(dtensor_grpo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(llm::to_text(planned(*read, "actor_train").layout), "dp8 tp2 pp1 zero3 sp");
  EXPECT_NE(read->text.find("software: {framework: nemo-rl, training: fsdp2}"), std::string::npos);
}

TEST(NemoRlConfiguration, DTensorReplicasKeepTheSizeOfShardGroups) {
  const base::Result<Import> read = nemo_rl(dtensor_grpo, "+policy.dtensor_cfg.dp_replicate_size=2");
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->job.software.shard_group, 4) << "two copies on eight ranks";
  plan::Plan plan = read->plan;
  for (plan::TaskPlan& task : plan.tasks)
    if (task.layout.zero == 3) task.layout.data = 16, task.layout.tensor = 1, task.layout.sequence_parallel = false;
  const auto changes = find_writer("nemo-rl").value()->changes_of(read->job, plan, {});
  const auto copies = std::find_if(changes.begin(), changes.end(), [](const Change& change) {
    return change.set.key == "++policy.dtensor_cfg.dp_replicate_size";
  });
  ASSERT_NE(copies, changes.end());
  EXPECT_EQ(copies->set.value, "4");
}

TEST(NemoRlConfiguration, PpoSwapsValueModelAndPolicy) {
  const base::Result<Import> read = nemo_rl(dtensor_ppo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("name: ppo, reference: skip"), std::string::npos) << read->text;
  EXPECT_NE(read->text.find("critic: qwen3-8b"), std::string::npos) << read->text;
  EXPECT_NE(read->text.find("epochs: 4"), std::string::npos) << read->text;
  EXPECT_TRUE(planned(*read, "critic_train").offload.weights);
  EXPECT_EQ(planned(*read, "critic_infer").micro_batching.sequences, 4);
}

TEST(NemoRlConfiguration, SeparateEnginesFollowTheTrainer) {
  const base::Result<Import> read = nemo_rl(megatron_grpo, async);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(planned(*read, "actor_train").mesh, (cluster::Mesh{.first = 0, .count = 16}));
  EXPECT_EQ(planned(*read, "actor_generate").mesh, (cluster::Mesh{.first = 16, .count = 16}));
  EXPECT_EQ(planned(*read, "actor_train").offload, plan::Offload{});
  EXPECT_EQ(read->job.workload.steps_off_policy, 1);
}

TEST(NemoRlConfiguration, OneNodeSharesItsGpusWithEngines) {
  const base::Result<Import> read = nemo_rl(dtensor_grpo,
                                            "cluster.num_nodes=1 policy.generation.colocated.enabled=false "
                                            "policy.generation.colocated.resources.gpus_per_node=4");
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(planned(*read, "actor_train").mesh, (cluster::Mesh{.first = 0, .count = 4}));
  EXPECT_EQ(planned(*read, "actor_generate").mesh, (cluster::Mesh{.first = 4, .count = 4}));
}

TEST(NemoRlConfiguration, ARewardModelHasSeparateNodes) {
  const std::string content = std::string(dtensor_grpo) +
                              "data: {default: {env_name: reward_model}}\n"
                              "env:\n"
                              "  reward_model:\n"
                              "    model_name: Qwen/Qwen3-4B\n"
                              "    batch_size: 4\n"
                              "    resources: {gpus_per_node: 8, num_nodes: 1}\n"
                              "    dtensor_cfg: {enabled: true, tensor_parallel_size: 2}\n";
  const base::Result<Import> read = nemo_rl(content.c_str());
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(planned(*read, "reward_infer").mesh, (cluster::Mesh{.first = 8, .count = 8}));
  EXPECT_EQ(planned(*read, "actor_train").mesh, (cluster::Mesh{.first = 0, .count = 8}));
  EXPECT_NE(read->text.find("reward: qwen3-4b"), std::string::npos) << read->text;
}

struct NemoRlChange {
  const char* override;
  Where where;
  const char* file = megatron_grpo;
  std::string given = {};  ///< overrides that both runs have
};

const NemoRlChange nemo_rl_changes[] = {
    {"grpo.num_prompts_per_step=128", Where::job},
    {"grpo.num_generations_per_prompt=16", Where::job},
    {"grpo.async_grpo.max_trajectory_age_steps=2", Where::job, megatron_grpo, async},
    {"grpo.async_grpo.enabled=false", Where::job, megatron_grpo, async},
    {"grpo.async_grpo.recompute_kv_cache_after_weight_updates=true", Where::not_modelled},
    {"grpo.use_dynamic_sampling=true", Where::not_modelled},
    {"grpo.batch_multiplier=2", Where::not_modelled, megatron_grpo, "grpo.use_dynamic_sampling=true"},
    {"grpo.max_rollout_turns=4", Where::not_modelled},
    {"grpo.adv_estimator.name=reinforce_plus_plus", Where::job},
    {"grpo.seq_logprob_error_threshold=2", Where::job, megatron_grpo,
     "loss_fn.force_on_policy_ratio=true policy.train_global_batch_size=2048"},
    {"loss_fn.force_on_policy_ratio=true", Where::job, megatron_grpo, "policy.train_global_batch_size=2048"},
    {"loss_fn.reference_policy_kl_penalty=0", Where::job},
    {"policy.model_name=Qwen/Qwen3-235B-A22B", Where::job},
    {"policy.train_global_batch_size=1024", Where::job},
    {"policy.train_micro_batch_size=2", Where::plan},
    {"policy.logprob_batch_size=4", Where::plan},
    {"policy.logprob_chunk_size=1024", Where::not_modelled, megatron_grpo,
     "policy.megatron_cfg.defer_fp32_logits=true"},
    {"policy.max_total_sequence_length=8192", Where::job},
    {"policy.generation.max_new_tokens=1024", Where::job},
    {"data.max_input_seq_length=1024", Where::job},
    {"policy.precision=float16", Where::not_modelled},
    {"policy.megatron_cfg.tensor_model_parallel_size=1", Where::plan},
    {"policy.megatron_cfg.pipeline_model_parallel_size=4", Where::plan},
    {"policy.megatron_cfg.context_parallel_size=2", Where::plan},
    {"policy.megatron_cfg.expert_model_parallel_size=4", Where::plan},
    {"policy.megatron_cfg.expert_tensor_parallel_size=2", Where::plan},
    {"policy.megatron_cfg.num_layers_in_first_pipeline_stage=20", Where::plan},
    {"policy.megatron_cfg.num_layers_in_last_pipeline_stage=20", Where::plan},
    {"+policy.megatron_cfg.virtual_pipeline_model_parallel_size=2", Where::plan},
    {"policy.megatron_cfg.sequence_parallel=false", Where::plan},
    {"policy.megatron_cfg.activation_checkpointing=true", Where::plan},
    {"policy.megatron_cfg.recompute_granularity=selective", Where::plan, megatron_grpo,
     "policy.megatron_cfg.activation_checkpointing=true"},
    {"policy.megatron_cfg.recompute_modules=[mlp]", Where::not_modelled, megatron_grpo,
     "policy.megatron_cfg.activation_checkpointing=true policy.megatron_cfg.recompute_granularity=selective"},
    {"policy.megatron_cfg.recompute_modules=[moe]", Where::plan, megatron_grpo,
     "policy.megatron_cfg.activation_checkpointing=true policy.megatron_cfg.recompute_granularity=selective"},
    {"policy.megatron_cfg.empty_unused_memory_level=3", Where::not_modelled},
    {"policy.megatron_cfg.defer_fp32_logits=true", Where::not_modelled},
    {"policy.megatron_cfg.use_fused_linear_logprobs=true", Where::not_modelled, megatron_grpo,
     "policy.sequence_packing.enabled=false"},
    {"policy.megatron_cfg.moe_token_dispatcher_type=flex", Where::not_modelled},
    {"policy.megatron_cfg.moe_enable_deepep=true", Where::not_modelled},
    {"policy.megatron_cfg.fp8_cfg.enabled=true", Where::not_modelled},
    {"policy.megatron_cfg.mtp_num_layers=1", Where::not_modelled},
    {"policy.megatron_cfg.optimizer.optimizer_cpu_offload=true", Where::plan, megatron_grpo,
     "policy.megatron_cfg.optimizer.optimizer_offload_fraction=1.0"},
    {"policy.megatron_cfg.optimizer.optimizer_offload_fraction=0.5", Where::job, megatron_grpo,
     "policy.megatron_cfg.optimizer.optimizer_offload_fraction=1.0 "
     "policy.megatron_cfg.optimizer.optimizer_cpu_offload=true"},
    {"policy.megatron_cfg.optimizer.use_precision_aware_optimizer=false", Where::not_modelled},
    {"policy.megatron_cfg.optimizer.use_distributed_optimizer=false", Where::plan},
    {"policy.megatron_cfg.distributed_data_parallel_config.grad_reduce_in_fp32=true", Where::job},
    {"policy.megatron_cfg.peft.enabled=true", Where::job},
    {"policy.megatron_cfg.peft.dim=32", Where::job, megatron_grpo, "policy.megatron_cfg.peft.enabled=true"},
    {"policy.dtensor_cfg.tensor_parallel_size=4", Where::plan, dtensor_grpo},
    {"policy.dtensor_cfg.context_parallel_size=2", Where::plan, dtensor_grpo,
     "policy.sequence_packing.enabled=false policy.dtensor_cfg.sequence_parallel=false"},
    {"policy.dtensor_cfg.sequence_parallel=false", Where::plan, dtensor_grpo},
    {"policy.dtensor_cfg.activation_checkpointing=true", Where::plan, dtensor_grpo},
    {"policy.dtensor_cfg.cpu_offload=true", Where::plan, dtensor_grpo},
    {"policy.dtensor_cfg.lora_cfg.enabled=true", Where::job, dtensor_grpo,
     "policy.dtensor_cfg.lora_cfg.use_triton=false"},
    {"+policy.dtensor_cfg.dp_replicate_size=2", Where::job, dtensor_grpo},
    {"policy.sequence_packing.enabled=false", Where::job},
    {"policy.sequence_packing.train_mb_tokens=8192", Where::plan},
    {"policy.sequence_packing.logprob_mb_tokens=16384", Where::plan},
    {"policy.dynamic_batching.enabled=true", Where::plan, dtensor_grpo, "policy.sequence_packing.enabled=false"},
    {"policy.dynamic_batching.train_mb_tokens=16384", Where::plan, dtensor_grpo,
     "policy.sequence_packing.enabled=false policy.dynamic_batching.enabled=true"},
    {"policy.dynamic_batching.logprob_mb_tokens=16384", Where::plan, dtensor_grpo,
     "policy.sequence_packing.enabled=false policy.dynamic_batching.enabled=true"},
    {"policy.offload_optimizer_for_logprob=true", Where::plan, megatron_grpo, colocated},
    {"policy.generation.backend=megatron", Where::plan},
    {"policy.generation.refit_transport=nccl_reshard", Where::not_modelled},
    {"policy.generation.vllm_cfg.tensor_parallel_size=2", Where::plan},
    {"policy.generation.vllm_cfg.pipeline_parallel_size=2", Where::plan, megatron_grpo,
     "policy.generation.vllm_cfg.async_engine=true"},
    {"policy.generation.vllm_cfg.expert_parallel_size=4", Where::plan},
    {"policy.generation.vllm_cfg.gpu_memory_utilization=0.8", Where::plan},
    {"+policy.dtensor_cfg.expert_parallel_size=4", Where::plan, dtensor_grpo, "policy.model_name=Qwen/Qwen3-30B-A3B"},
    {"policy.generation.vllm_cfg.max_model_len=2048", Where::job},
    {"policy.generation.vllm_cfg.precision=fp8", Where::job, megatron_grpo,
     "loss_fn.use_importance_sampling_correction=true"},
    {"policy.generation.vllm_cfg.precision=fp8", Where::not_modelled, megatron_grpo,
     "loss_fn.use_importance_sampling_correction=true"},
    {"policy.generation.vllm_cfg.kv_cache_dtype=fp8", Where::job, megatron_grpo,
     "loss_fn.use_importance_sampling_correction=true policy.generation.vllm_cfg.precision=fp8 "
     "policy.megatron_cfg.pipeline_model_parallel_size=1"},
    {"policy.generation.vllm_cfg.enforce_eager=true", Where::plan},
    {"policy.generation.vllm_cfg.async_engine=true", Where::not_modelled},
    {"+policy.generation.vllm_kwargs.max_num_seqs=512", Where::plan},
    {"+policy.generation.vllm_kwargs.max_num_batched_tokens=16384", Where::plan},
    {"+policy.generation.vllm_kwargs.enable_chunked_prefill=false", Where::plan},
    {"+policy.generation.vllm_kwargs.speculative_config.method=mtp", Where::not_modelled},
    {"policy.generation.colocated.enabled=false", Where::job, megatron_grpo,
     "policy.generation.colocated.resources.num_nodes=2 policy.generation.colocated.resources.gpus_per_node=8"},
    {"policy.generation.colocated.resources.num_nodes=3", Where::job, megatron_grpo,
     std::string(colocated) + " policy.megatron_cfg.expert_model_parallel_size=4"},
    {"policy.generation.colocated.resources.gpus_per_node=6", Where::job, dtensor_grpo,
     "cluster.num_nodes=1 policy.generation.colocated.enabled=false "
     "policy.generation.colocated.resources.gpus_per_node=4"},
    {"cluster.gpus_per_node=4", Where::job},
    {"cluster.num_nodes=8", Where::job},
    {"cluster.segment_size=16", Where::not_modelled},
    {"+async_rl.sampler.max_staleness_versions=2", Where::job},
    {"ppo.ppo_epochs=2", Where::job, dtensor_ppo},
    {"ppo.policy_training_start_step=10", Where::not_modelled, dtensor_ppo},
    {"value.model_name=Qwen/Qwen3-4B", Where::job, dtensor_ppo},
    {"value.dtensor_cfg.tensor_parallel_size=2", Where::plan, dtensor_ppo},
    {"value.dtensor_cfg.activation_checkpointing=true", Where::plan, dtensor_ppo},
    {"value.train_micro_batch_size=2", Where::plan, dtensor_ppo},
    {"value.train_global_batch_size=256", Where::job, dtensor_ppo},
};

class NemoRlChangedSetting : public testing::TestWithParam<NemoRlChange> {};

TEST_P(NemoRlChangedSetting, AffectsTheExpectedResult) {
  const NemoRlChange& changed = GetParam();
  expect_changed(nemo_rl_text(changed.file, changed.given),
                 nemo_rl_text(changed.file, changed.given + " " + changed.override), changed.where);
}

INSTANTIATE_TEST_SUITE_P(NemoRl, NemoRlChangedSetting, testing::ValuesIn(nemo_rl_changes));

struct NemoRlRejection {
  const char* overrides;
  const char* message;  ///< part of the message
  const char* file = megatron_grpo;
};

TEST(NemoRlConfiguration, RejectsUnsupportedConfigurations) {
  const NemoRlRejection all[] = {
      {"loss_fn.force_on_policy_ratio=true", "accepted: the 2048 samples of a step"},
      {"policy.train_global_batch_size=1000", "accepted: a divisor of the 2048 samples"},
      {"policy.train_global_batch_size=4", "accepted: a multiple of 8, the number of data-parallel ranks"},
      {"grpo.batch_multiplier=2", "is 2 without grpo.use_dynamic_sampling"},
      {"+grpo.skip_reference_policy_logprobs_calculation=true", "accepted: false, or no penalty"},
      {"policy.megatron_cfg.tensor_model_parallel_size=4", "accepted: train_micro_batch_size (1)"},
      {"policy.megatron_cfg.tensor_model_parallel_size=3", "does not divide the 32 GPUs"},
      {"policy.dtensor_cfg.enabled=true", "accepted: exactly one of them true"},
      {"policy.megatron_cfg.enabled=false", "accepted: exactly one of them true"},
      {"policy.dynamic_batching.enabled=true", "is true with policy.sequence_packing"},
      {"policy.dynamic_batching.enabled=true policy.sequence_packing.enabled=false", "is true with 2 pipeline stages"},
      {"policy.sequence_packing.enabled=false policy.megatron_cfg.context_parallel_size=2",
       "is 2 without policy.sequence_packing"},
      {"policy.megatron_cfg.use_fused_linear_logprobs=true", "is true with sequence packing"},
      {"policy.logprob_chunk_size=512", "is 512 without policy.megatron_cfg.defer_fp32_logits"},
      {"policy.megatron_cfg.optimizer.optimizer_cpu_offload=true", "accepted: more than 0 and at most 1"},
      {"policy.megatron_cfg.optimizer.optimizer_cpu_offload=true "
       "policy.megatron_cfg.optimizer.optimizer_offload_fraction=1 "
       "policy.megatron_cfg.optimizer.use_distributed_optimizer=false",
       "without use_distributed_optimizer"},
      {"policy.megatron_cfg.optimizer.overlap_cpu_optimizer_d2h_h2d=true", "without optimizer_cpu_offload"},
      {"policy.megatron_cfg.fine_grained_activation_offloading=true", "names no modules"},
      {"policy.draft.enabled=true", "with packed sequences"},
      {"grpo.async_grpo.enabled=true", "without vllm_cfg.async_engine"},
      {"grpo.async_grpo.enabled=true policy.generation.vllm_cfg.async_engine=true",
       "without loss_fn.use_importance_sampling_correction"},
      {"grpo.async_grpo.enabled=true policy.generation.vllm_cfg.async_engine=true "
       "loss_fn.use_importance_sampling_correction=true",
       "is true with colocated generation"},
      {"grpo.async_grpo.enabled=true policy.generation.backend=sglang", "is true with sglang"},
      {"policy.generation.colocated.enabled=false", "accepted: at least 1 and fewer than 4 nodes"},
      {"policy.generation.colocated.enabled=false policy.generation.colocated.resources.num_nodes=2 "
       "policy.generation.colocated.resources.gpus_per_node=4",
       "with all 8 GPUs each"},
      {"policy.generation.colocated.enabled=false cluster.num_nodes=1",
       "accepted: colocated generation, or num_nodes 1 with at least 1 and fewer than 8 GPUs"},
      {"policy.generation.vllm_cfg.pipeline_parallel_size=2", "without async_engine"},
      {"policy.generation.vllm_cfg.expert_parallel_size=6", "accepted: 1, or a multiple of tensor_parallel_size (4)"},
      {"policy.generation.vllm_cfg.expert_parallel_size=8 policy.generation.vllm_cfg.async_engine=true",
       "is 8 with async_engine"},
      {"policy.generation.vllm_cfg.precision=fp8", "is fp8 without"},
      {"policy.generation.vllm_cfg.kv_cache_dtype=fp8", "accepted: auto, or fp8 if `precision` is fp8"},
      {"policy.generation.vllm_cfg.tensor_parallel_size=3", "does not divide the 32 GPUs"},
      {"policy.generation.backend=dynamo", "accepted: vllm, sglang, trtllm, megatron"},
      {"on_policy_distillation={teachers:1}", "jobs cannot have teachers"},
      {"cluster.num_nodes=0", "accepted: at least 1"},
      {"policy.model_name=x/Nothing-9B", "accepted: --model actor=NAME"},
      {"grpo.bananas=2", "bananas"},
      {"policy.dtensor_cfg.context_parallel_size=2", "is 2 with policy.sequence_packing", dtensor_grpo},
      {"policy.dtensor_cfg.context_parallel_size=2 policy.sequence_packing.enabled=false",
       "is true with context and tensor parallelism", dtensor_grpo},
      {"policy.dtensor_cfg.lora_cfg.enabled=true", "is true with tensor parallelism", dtensor_grpo},
      {"policy.dtensor_cfg.lora_cfg.enabled=true policy.dtensor_cfg._v2=false", "is true without _v2", dtensor_grpo},
      {"+policy.dtensor_cfg.dp_replicate_size=2 policy.dtensor_cfg._v2=false", "is 2 without _v2", dtensor_grpo},
      {"+policy.dtensor_cfg.dp_replicate_size=3", "is 3; accepted: a divisor of 8, the number of data-parallel ranks",
       dtensor_grpo},
      {"+policy.generation.refit_transport=nixl", "is nixl with PPO", dtensor_ppo},
      {"policy.generation.backend=megatron", "accepted: vllm, sglang", dtensor_ppo},
      {"value.sequence_packing.enabled=true", "is true with DTensor", dtensor_ppo},
      {"value.dynamic_batching.enabled=true", "is true with DTensor", dtensor_ppo},
      {"value.dtensor_cfg.context_parallel_size=2", "is more than 1", dtensor_ppo},
      {"value.megatron_cfg.enabled=true", "accepted: exactly one of them true", dtensor_ppo},
      {"value.train_global_batch_size=4", "is 4, which NeMo-RL rejects", dtensor_ppo},
  };
  for (const NemoRlRejection& rejected : all) {
    const base::Result<Import> read = nemo_rl(rejected.file, rejected.overrides);
    ASSERT_FALSE(read.ok()) << rejected.overrides;
    EXPECT_NE(read.error().message.find(rejected.message), std::string::npos)
        << rejected.overrides << ": " << base::to_text(read.error());
  }
  EXPECT_FALSE(nemo_rl("policy: {model_name: Qwen/Qwen3-8B}\nsft: {max_num_steps: 3}\n").ok());
}

TEST(NemoRlConfiguration, AcceptsFilesOfBothVersions) {
  // Older files lack `force_on_policy_ratio`, packing of values and `kv_cache_dtype`. Later files have all of them.
  const ImportedText before = nemo_rl_text(
      megatron_grpo,
      "~loss_fn.force_on_policy_ratio ~grpo.seq_logprob_error_threshold ~policy.generation.vllm_cfg.kv_cache_dtype "
      "~policy.megatron_cfg.recompute_granularity ~policy.generation.refit_transport ~grpo.batch_multiplier");
  const ImportedText now = nemo_rl_text(megatron_grpo);
  EXPECT_EQ(before.job, now.job);
  EXPECT_EQ(before.plan, now.plan);
  EXPECT_EQ(before.not_modelled, now.not_modelled);
}

TEST(NemoRlConfiguration, ALaunchScriptAppliesOverridesToItsFile) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "nemo_rl_launch";
  std::filesystem::create_directories(folder / "recipes");
  ASSERT_TRUE(base::write_file((folder / "recipes" / "child.yaml").string(), megatron_grpo).ok());
  ImportOptions options;
  options.root = folder.string();
  options.arguments = {"grpo.num_prompts_per_step=128"};
  const std::string script =
      "#!/bin/bash\nCONFIG=recipes/child.yaml\nuv run examples/run_grpo.py --config $CONFIG "
      "policy.logprob_batch_size=4 logger.log_dir=$LOGS \"$@\" 2>&1 | tee run.log\n";
  const base::Result<Import> read = import_run((folder / "run.sh").string(), script, options);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->job.workload.prompts, 128);
  EXPECT_EQ(planned(*read, "actor_infer").micro_batching.tokens, 16384);
  EXPECT_NE(findings_text(*read, read->run.assumed).find("grpo_math_1B.yaml cannot be read; the bundled copy from "),
            std::string::npos);
  const base::Result<Import> plain = import_run("run.sh", "uv run examples/run_grpo.py cluster.gpus_per_node=8\n", {});
  ASSERT_TRUE(plain.ok()) << base::to_text(plain.error());
  EXPECT_EQ(plain->job.workload.prompts, 32);
  for (const char* wrong :
       {"uv run examples/run_sft.py --config a.yaml\n", "uv run examples/run_grpo.py --config $X\n",
        "uv run examples/run_grpo.py --config nowhere.yaml\n", "uv run examples/run_grpo_single_controller.py\n"})
    EXPECT_FALSE(import_run("run.sh", wrong, {}).ok()) << wrong;
  const std::string checked =
      "export NRL_IGNORE_TP_ACCURACY_CHECK=1\nuv run examples/run_grpo.py --config recipes/child.yaml "
      "policy.megatron_cfg.tensor_model_parallel_size=4\n";
  options.arguments.clear();
  EXPECT_TRUE(import_run((folder / "run.sh").string(), checked, options).ok());
}

TEST(NemoRlConfiguration, AcceptsTheTrackersForm) {
  const char* wrapped =
      "wandb_version: 1\n"
      "grpo: {value: {num_prompts_per_step: 32, num_generations_per_prompt: 8}}\n"
      "loss_fn: {value: {reference_policy_kl_penalty: 0}}\n"
      "policy:\n"
      "  desc: null\n"
      "  value:\n"
      "    model_name: Qwen/Qwen3-8B\n"
      "    train_global_batch_size: 256\n"
      "    train_micro_batch_size: 1\n"
      "    max_total_sequence_length: 2048\n"
      "    dtensor_cfg: {enabled: true}\n"
      "    generation: {backend: vllm, vllm_cfg: {tensor_parallel_size: 1, gpu_memory_utilization: 0.6}}\n"
      "cluster: {value: {gpus_per_node: 8, num_nodes: 1}}\n";
  const base::Result<Import> read = nemo_rl(wrapped);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->job.workload.prompts, 32);
  EXPECT_EQ(planned(*read, "actor_train").micro_batching.sequences, 1);
}

}  // namespace
}  // namespace dovetail::trainers
