#include "trainers/roll/configuration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "base/file.h"
#include "trainers/imported.h"
#include "trainers/roll/devices.h"

namespace dovetail::trainers {
namespace {

/// Dense, trained by Megatron; engines on GPUs of the trainer; a model judges one domain on the others.
constexpr const char* megatron_rlvr =
    "hydra: {run: {dir: .}}\n"
    "num_gpus_per_node: 8\n"
    "rollout_batch_size: 64\n"
    "prompt_length: 2048\n"
    "response_length: 4096\n"
    "num_return_sequences_in_group: 8\n"
    "ppo_epochs: 1\n"
    "adv_estimator: grpo\n"
    "pretrain: Qwen/Qwen2.5-7B\n"
    "actor_train:\n"
    "  model_args: {dtype: bf16, model_type: ~}\n"
    "  training_args: {per_device_train_batch_size: 1, gradient_accumulation_steps: 16}\n"
    "  strategy_args:\n"
    "    strategy_name: megatron_train\n"
    "    strategy_config:\n"
    "      tensor_model_parallel_size: 2\n"
    "      pipeline_model_parallel_size: 2\n"
    "      use_distributed_optimizer: true\n"
    "      recompute_granularity: full\n"
    "  device_mapping: list(range(0,16))\n"
    "  infer_batch_size: 4\n"
    "actor_infer:\n"
    "  model_args: {dtype: bf16}\n"
    "  generating_args: {max_new_tokens: '${response_length}', num_beams: 1}\n"
    "  strategy_args:\n"
    "    strategy_name: vllm\n"
    "    strategy_config: {gpu_memory_utilization: 0.8, block_size: 16, max_model_len: 8000, tensor_parallel_size: 2}\n"
    "  device_mapping: list(range(0,12))\n"
    "  infer_batch_size: 1\n"
    "reference:\n"
    "  model_args: {dtype: bf16}\n"
    "  strategy_args: {strategy_name: megatron_infer, strategy_config: {tensor_model_parallel_size: 2}}\n"
    "  device_mapping: list(range(0,16))\n"
    "  infer_batch_size: 8\n"
    "rewards:\n"
    "  math_rule: {worker_cls: rules.Math, world_size: 8, infer_batch_size: 1}\n"
    "  llm_judge:\n"
    "    judge_model_type: inference\n"
    "    model_args: {model_name_or_path: Qwen/Qwen2.5-3B-Instruct}\n"
    "    strategy_args: {strategy_name: vllm, strategy_config: {gpu_memory_utilization: 0.8}}\n"
    "    device_mapping: list(range(12,16))\n"
    "    infer_batch_size: 4\n";

/// Experts, trained by Megatron with a pipeline; engines of SGLang; a rule judges.
constexpr const char* experts_rlvr =
    "rollout_batch_size: 64\n"
    "prompt_length: 1024\n"
    "response_length: 3072\n"
    "num_return_sequences_in_group: 16\n"
    "adv_estimator: reinforce\n"
    "init_kl_coef: 0\n"
    "pretrain: Qwen/Qwen3-30B-A3B-Base\n"
    "actor_train:\n"
    "  training_args: {per_device_train_batch_size: 1, gradient_accumulation_steps: 64}\n"
    "  strategy_args:\n"
    "    strategy_name: megatron_train\n"
    "    strategy_config:\n"
    "      pipeline_model_parallel_size: 2\n"
    "      expert_model_parallel_size: 8\n"
    "      use_distributed_optimizer: true\n"
    "      moe_token_dispatcher_type: alltoall\n"
    "      overlap_grad_reduce: true\n"
    "  device_mapping: list(range(0,32))\n"
    "actor_infer:\n"
    "  strategy_args: {strategy_name: sglang, strategy_config: {mem_fraction_static: 0.7}}\n"
    "  num_gpus_per_worker: 4\n"
    "  device_mapping: list(range(0,32))\n";

/// Dense, trained by FSDP; a critic.
constexpr const char* fsdp_rlvr =
    "rollout_batch_size: 32\n"
    "prompt_length: 1024\n"
    "sequence_length: 3072\n"
    "num_return_sequences_in_group: 4\n"
    "pretrain: Qwen/Qwen3-8B\n"
    "reward_pretrain: Qwen/Qwen3-4B\n"
    "actor_train:\n"
    "  model_args: {attn_implementation: fa2}\n"
    "  training_args: {per_device_train_batch_size: 2, gradient_accumulation_steps: 2}\n"
    "  strategy_args: {strategy_name: fsdp2_train, strategy_config: {fsdp_size: 8}}\n"
    "  device_mapping: list(range(0,8))\n"
    "critic:\n"
    "  training_args: {per_device_train_batch_size: 2, gradient_accumulation_steps: 2}\n"
    "  strategy_args: {strategy_name: fsdp2_train, strategy_config: {fsdp_size: 8}}\n"
    "  device_mapping: list(range(0,8))\n"
    "actor_infer:\n"
    "  strategy_args: {strategy_name: vllm, strategy_config: {gpu_memory_utilization: 0.6}}\n"
    "  device_mapping: list(range(0,8))\n"
    "reference:\n"
    "  strategy_args: {strategy_name: hf_infer, strategy_config: ~}\n"
    "  device_mapping: list(range(0,8))\n";

const std::string dynamic =
    "++actor_train.use_dynamic_batching_in_train=true ++actor_train.max_tokens_per_microbatch_in_train=12288 "
    "++actor_train.use_dynamic_batching_in_infer=true ++actor_train.max_tokens_per_microbatch_in_infer=24576";
const std::string balanced =
    "++actor_train.use_sequence_packing=true ++actor_train.sequence_packing_args.algorithm=load_balance "
    "++actor_train.sequence_packing_args.max_packed_sequence_length_train=8192 "
    "++actor_train.sequence_packing_args.max_packed_sequence_length_forward=16384";
/// Adapters have the reference in the actor.
const std::string adapters = "++actor_train.model_args.lora_target=all-linear ++actor_train.model_args.lora_rank=32";

/// Overrides with blanks between them.
ImportOptions with_words(const std::string& overrides) {
  ImportOptions options;
  std::size_t begin = 0;
  while (begin < overrides.size()) {
    const std::size_t end = std::min(overrides.find(' ', begin), overrides.size());
    if (end > begin) options.arguments.push_back(overrides.substr(begin, end - begin));
    begin = end + 1;
  }
  return options;
}

base::Result<Import> roll(const char* file, const std::string& overrides = {}) {
  return import_run("run.yaml", file, with_words(overrides));
}

Told roll_told(const char* file, const std::string& overrides = {}) {
  return told_of("run.yaml", file, with_words(overrides));
}

std::vector<std::int64_t> run_of(std::int64_t first, std::int64_t end) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(end - first));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

TEST(DeviceNumbers, AreThoseThatPythonSays) {
  const std::vector<std::pair<const char*, std::vector<std::int64_t>>> said{
      {"list(range(0,8))", run_of(0, 8)},
      {" list( range( 2 , 4 ) ) ", {2, 3}},
      {"range(3)", {0, 1, 2}},
      {"list(range(0, 16, 4))", {0, 4, 8, 12}},
      {"list(range(4, 0, -2))", {4, 2}},
      {"[0,1] + [6, 7,]", {0, 1, 6, 7}},
      {"list(range(0,2))+list(range(14,16))", {0, 1, 14, 15}},
      {"[1, 2] * 2", {1, 2, 1, 2}},
      {"2 * [3]", {3, 3}},
      {"list([4,5,12,13])", {4, 5, 12, 13}},
      {"list(range(2*8, 3*8-1))", run_of(16, 23)},
      {"[(1 + 2) * 3, --1]", {9, 1}},
      {"[]", {}},
      {"list()", {}},
  };
  for (const auto& [expression, numbers] : said) {
    const auto read = device_numbers(expression);
    ASSERT_TRUE(read.ok()) << expression << ": " << base::to_text(read.error());
    EXPECT_EQ(*read, numbers) << expression;
  }
}

TEST(DeviceNumbers, OfOtherExpressionsAreRefused) {
  for (const char* const expression :
       {"",
        "8",
        "list(8)",
        "range()",
        "range(1,2,3,4)",
        "range(0,8,0)",
        "list(range(0,8)",
        "[0,1",
        "[0 1]",
        "[[0]]",
        "range(2) + range(2)",
        "range(2) * 2",
        "[1] - [1]",
        "[1] * [1]",
        "[i for i in range(8)]",
        "list(map(int, 'a'))",
        "open('f')",
        "[0] + 1",
        "list(range(0, 1000000000))",
        "[0] * 1000000",
        "[99999999999999999999]",
        "-[1]",
        "((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))"}) {
    const auto read = device_numbers(expression);
    ASSERT_FALSE(read.ok()) << expression;
    EXPECT_NE(read.error().message.find("accepted: lists of GPUs"), std::string::npos) << read.error().message;
  }
}

TEST(RollConfiguration, OfMegatronIsAJobAndAPlan) {
  const base::Result<Import> read = roll(megatron_rlvr);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->trainer, "roll");
  EXPECT_EQ(read->text,
            "format: dovetail/job@1\n"
            "name: run\n"
            "algorithm: {name: grpo, reference: pass, reward: model, policy_log_probabilities: trainer}\n"
            "models:\n"
            "  actor: qwen2.5-7b\n"
            "  reward: qwen2.5-3b\n"
            "workload:\n"
            "  prompts: 64\n"
            "  samples_per_prompt: 8\n"
            "  mini_batch: 64\n"
            "  epochs: 1\n"
            "  packing: false\n"
            "  prompt_length: 2048\n"
            "  response_length: 4096\n"
            "cluster: {nodes: 2, gpus_per_node: 8, gpu: H100-80}\n"
            "software: {training: roll-megatron}\n");
  const plan::TaskPlan& train = planned(*read, "actor_train");
  EXPECT_EQ(train.mesh, (cluster::Mesh{.first = 0, .count = 16}));
  EXPECT_EQ(llm::to_text(train.layout), "dp4 tp2 pp2 zero1 recompute");
  EXPECT_EQ(train.micro_batching, (plan::MicroBatching{.sequences = 1, .tokens = 0, .count = 0}));
  EXPECT_EQ(train.offload, (plan::Offload{.weights = true, .gradients = true, .optimizer = true}));
  const plan::TaskPlan& pass = planned(*read, "actor_infer");
  EXPECT_EQ(llm::to_text(pass.layout), "dp4 tp2 pp2 zero1");
  EXPECT_EQ(pass.micro_batching.sequences, 4);
  const plan::TaskPlan& reference = planned(*read, "reference_infer");
  EXPECT_EQ(llm::to_text(reference.layout), "dp8 tp2 pp1");
  EXPECT_EQ(reference.micro_batching.sequences, 8);
  EXPECT_TRUE(reference.offload.weights);
  const plan::TaskPlan& generate = planned(*read, "actor_generate");
  EXPECT_EQ(generate.mesh, (cluster::Mesh{.first = 0, .count = 12}));
  EXPECT_EQ(llm::to_text(generate.layout), "dp6 tp2 pp1");
  EXPECT_EQ(generate.engine.memory_utilization, 0.8);
  EXPECT_EQ(generate.engine.max_num_seqs, 128) << "ROLL's scheduler hands an instance no more";
  EXPECT_TRUE(generate.offload.weights);
  const plan::TaskPlan& judge = planned(*read, "reward_infer");
  EXPECT_EQ(judge.mesh, (cluster::Mesh{.first = 12, .count = 4}));
  EXPECT_EQ(judge.micro_batching.sequences, 4);
}

TEST(RollConfiguration, OfExpertsHasThemInTrainingAndEnginesOfTheirWorkers) {
  const base::Result<Import> read = roll(experts_rlvr);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("name: reinforce++, reference: skip, reward: rule, policy_log_probabilities: engine"),
            std::string::npos)
      << read->text;
  EXPECT_NE(read->text.find("mini_batch: 1024\n"), std::string::npos) << read->text;
  EXPECT_EQ(llm::to_text(planned(*read, "actor_train").layout), "dp16 tp1 pp2 ep8 zero1");
  EXPECT_EQ(llm::to_text(planned(*read, "actor_generate").layout), "dp8 tp4 pp1");
  const base::Result<Import> tensor =
      roll(experts_rlvr, "++actor_train.strategy_args.strategy_config.tensor_model_parallel_size=2");
  ASSERT_TRUE(tensor.ok()) << base::to_text(tensor.error());
  EXPECT_TRUE(planned(*tensor, "actor_train").layout.sequence_parallel) << "experts turn it on";
}

TEST(RollConfiguration, OfFsdpShardsAllAndKeepsItsOptimizer) {
  const base::Result<Import> read = roll(fsdp_rlvr);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("name: ppo, reference: pass, reward: rule, policy_log_probabilities: trainer"),
            std::string::npos)
      << read->text;
  EXPECT_NE(read->text.find("critic: qwen3-4b\n"), std::string::npos) << read->text;
  EXPECT_NE(read->text.find("response_length: 2048\n"), std::string::npos) << read->text;
  EXPECT_NE(read->text.find("software: {training: fsdp2}"), std::string::npos) << read->text;
  const plan::TaskPlan& train = planned(*read, "actor_train");
  EXPECT_EQ(llm::to_text(train.layout), "dp8 tp1 pp1 zero3 recompute");
  EXPECT_EQ(train.offload, (plan::Offload{.weights = true, .gradients = false, .optimizer = false}));
  EXPECT_EQ(llm::to_text(planned(*read, "critic_train").layout), "dp8 tp1 pp1 zero3 recompute");
  EXPECT_EQ(planned(*read, "critic_infer").micro_batching.sequences, 16);
  EXPECT_EQ(llm::to_text(planned(*read, "reference_infer").layout), "dp8 tp1 pp1");
}

TEST(RollConfiguration, OfDynamicBatchesHasTokensAndPadding) {
  const base::Result<Import> read = roll(megatron_rlvr, dynamic);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("packing: false"), std::string::npos);
  // Two sequences of 6144 fit; 16 micro-batches of 4 copies make a step.
  EXPECT_NE(read->text.find("mini_batch: 128\n"), std::string::npos) << read->text;
  EXPECT_EQ(planned(*read, "actor_train").micro_batching.tokens, 12288);
  EXPECT_EQ(planned(*read, "actor_infer").micro_batching.tokens, 24576);
}

TEST(RollConfiguration, OfPackedSequencesHasNoPadding) {
  const base::Result<Import> read = roll(megatron_rlvr, balanced);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->text.find("packing: false"), std::string::npos) << read->text;
  EXPECT_EQ(planned(*read, "actor_train").micro_batching.tokens, 8192);
  EXPECT_EQ(planned(*read, "actor_infer").micro_batching.tokens, 16384);
  const base::Result<Import> plain = roll(megatron_rlvr, "++actor_train.use_sequence_packing=true");
  ASSERT_TRUE(plain.ok()) << base::to_text(plain.error());
  EXPECT_TRUE(plain->run.packing);
  EXPECT_EQ(planned(*plain, "actor_train").micro_batching.sequences, 1);
}

TEST(RollConfiguration, OfAdaptersHasTheReferenceWhereTheActorIs) {
  const base::Result<Import> read = roll(megatron_rlvr, adapters);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("actor: {model: qwen2.5-7b, lora: 32}"), std::string::npos) << read->text;
  EXPECT_EQ(planned(*read, "reference_infer").layout, planned(*read, "actor_infer").layout);
}

TEST(RollConfiguration, OfAsynchronousGenerationIsStepsBehindAndDoesNotSleep) {
  const base::Result<Import> read =
      roll(megatron_rlvr, "++async_generation_ratio=1.5 actor_infer.device_mapping=\"list(range(16,24))\"");
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->job.workload.steps_off_policy, 2);
  EXPECT_FALSE(planned(*read, "actor_generate").offload.weights);
  EXPECT_NE(told(*read, read->run.not_modelled).find("1.5: a part of the samples is a step younger"),
            std::string::npos);
}

TEST(RollConfiguration, CountsLayersOfEmbeddingAndLoss) {
  // Qwen3-30B-A3B has 48 layers; with both ends there are 50 for five stages.
  const base::Result<Import> read =
      roll(experts_rlvr,
           "rollout_batch_size=80 actor_train.device_mapping=\"list(range(0,40))\" "
           "actor_train.strategy_args.strategy_config.pipeline_model_parallel_size=5 "
           "++actor_train.strategy_args.strategy_config.account_for_embedding_in_pipeline_split=true "
           "++actor_train.strategy_args.strategy_config.account_for_loss_in_pipeline_split=true "
           "actor_train.training_args.gradient_accumulation_steps=32");
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(planned(*read, "actor_train").layout.stage_layers, (std::vector<int>{9, 10, 10, 10, 9}));
}

struct RollChange {
  const char* override;
  Where where;
  const char* file = megatron_rlvr;
  std::string given = {};  ///< beside it, before as after
};

const std::string ring =
    "++actor_train.model_args.ulysses_size=2 actor_train.strategy_args.strategy_config.fsdp_size=8";

const RollChange roll_changes[] = {
    {"rollout_batch_size=128", Where::job},
    {"prompt_length=1024", Where::job},
    {"response_length=2048", Where::job},
    {"sequence_length=4096", Where::job, fsdp_rlvr},
    {"++response_length=1024", Where::ignored, fsdp_rlvr},
    {"num_return_sequences_in_group=16", Where::job},
    {"ppo_epochs=2", Where::job},
    {"adv_estimator=reinforce", Where::job},
    {"++async_generation_ratio=1", Where::job},
    {"num_gpus_per_node=4", Where::job},
    {"pretrain=Qwen/Qwen3-4B", Where::job},
    {"reward_pretrain=Qwen/Qwen3-1.7B", Where::job, fsdp_rlvr},
    {"++enable_reference=true", Where::job, experts_rlvr,
     "++reference.device_mapping=\"list(range(0,32))\" ++reference.strategy_args.strategy_name=megatron_infer "
     "++reference.strategy_args.strategy_config.expert_model_parallel_size=8"},
    {"++use_kl_loss=true", Where::job, experts_rlvr,
     "++reference.device_mapping=\"list(range(0,32))\" ++reference.strategy_args.strategy_name=hf_infer"},
    {"++init_kl_coef=0.1", Where::job, experts_rlvr,
     "++reference.device_mapping=\"list(range(0,32))\" ++reference.strategy_args.strategy_name=hf_infer"},
    {"++enable_old_logprobs_recompute=true", Where::job, experts_rlvr},
    {"++force_disable_old_logprobs_recompute=true", Where::job},
    {"++max_running_requests=64", Where::plan},
    {"++router_args.max_running_requests=32", Where::plan},
    {"++is_use_additional_prompts=true", Where::not_modelled},
    {"++generate_opt_level=0", Where::not_modelled},
    {"++model_update_buffer_size_mb=2048", Where::not_modelled},
    {"++save_logging_board_dir=logs", Where::not_modelled},
    {"++critic_warmup=5", Where::not_modelled, fsdp_rlvr},
    {"++rollout_mock.enable=true", Where::not_modelled},
    {"++entropy_loss_coef=0.01", Where::not_modelled},
    {"++is_offload_states=true", Where::ignored},
    {"++is_offload_optimizer_states_in_train_step=true", Where::ignored},
    // Devices.
    {"actor_train.device_mapping=\"list(range(0,32))\"", Where::job},
    {"actor_infer.device_mapping=\"list(range(0,8))\"", Where::plan},
    {"reference.device_mapping=\"list(range(0,8))\"", Where::plan},
    {"critic.device_mapping=\"list(range(0,4))\"", Where::plan, fsdp_rlvr},
    {"++critic.device_mapping=\"list(range(0,8))\"", Where::ignored},
    {"++reference.device_mapping=\"list(range(0,32))\"", Where::ignored, experts_rlvr},
    {"rewards.llm_judge.device_mapping=\"list(range(12,14))\"", Where::plan},
    {"++reference.num_gpus_per_worker=2", Where::plan, fsdp_rlvr},
    {"++actor_infer.num_gpus_per_worker=4", Where::ignored},
    {"++actor_train.num_gpus_per_worker=2", Where::ignored},
    {"actor_infer.num_gpus_per_worker=8", Where::plan, experts_rlvr},
    {"rewards.math_rule.world_size=16", Where::not_modelled},
    {"++actor_train.world_size=32", Where::ignored},
    // Strategies.
    {"actor_infer.strategy_args.strategy_name=sglang", Where::not_modelled, megatron_rlvr,
     "++actor_infer.strategy_args.strategy_config.mem_fraction_static=0.8 ++actor_infer.num_gpus_per_worker=2"},
    {"reference.strategy_args.strategy_name=hf_infer", Where::plan},
    {"reference.strategy_args.strategy_name=fsdp2_infer", Where::plan},
    {"actor_train.strategy_args.strategy_name=deepspeed_train", Where::job, fsdp_rlvr},
    {"actor_train.strategy_args.strategy_name=fsdp2_train", Where::job},
    {"++actor_train.strategy_args.strategy_config.zero_optimization.stage=2", Where::plan, fsdp_rlvr,
     "actor_train.strategy_args.strategy_name=deepspeed_train"},
    {"++actor_train.strategy_args.strategy_config.zero_optimization.offload_optimizer.device=cpu", Where::plan,
     fsdp_rlvr, "actor_train.strategy_args.strategy_name=deepspeed_train"},
    {"actor_train.strategy_args.strategy_config.tensor_model_parallel_size=4", Where::job},
    {"reference.strategy_args.strategy_config.tensor_model_parallel_size=4", Where::plan},
    {"actor_train.strategy_args.strategy_config.pipeline_model_parallel_size=4", Where::job},
    {"++actor_train.strategy_args.strategy_config.virtual_pipeline_model_parallel_size=2", Where::plan},
    {"++actor_train.strategy_args.strategy_config.context_parallel_size=2", Where::job},
    {"++actor_train.strategy_args.strategy_config.sequence_parallel=true", Where::plan},
    {"actor_train.strategy_args.strategy_config.expert_model_parallel_size=4", Where::plan, experts_rlvr},
    {"++actor_train.strategy_args.strategy_config.expert_tensor_parallel_size=2", Where::plan, experts_rlvr},
    {"actor_train.strategy_args.strategy_config.use_distributed_optimizer=false", Where::plan},
    {"actor_train.strategy_args.strategy_config.recompute_granularity=selective", Where::plan},
    {"++actor_train.strategy_args.strategy_config.recompute_modules=moe", Where::ignored},
    {"++actor_train.strategy_args.strategy_config.recompute_modules=moe", Where::not_modelled, megatron_rlvr,
     "actor_train.strategy_args.strategy_config.recompute_granularity=selective"},
    {"++actor_train.strategy_args.strategy_config.recompute_num_layers=2", Where::not_modelled},
    {"++actor_train.strategy_args.strategy_config.overlap_grad_reduce=true", Where::not_modelled},
    {"++actor_train.strategy_args.strategy_config.optimizer_cpu_offload=true", Where::ignored},
    {"++actor_train.strategy_args.strategy_config.pipeline_model_parallel_layout=E", Where::not_modelled},
    {"++actor_train.strategy_args.strategy_config.cross_entropy_loss_fusion=true", Where::not_modelled},
    {"++actor_train.strategy_args.strategy_config.mtp_num_layers=1", Where::not_modelled},
    {"++actor_train.strategy_args.strategy_config.something_new=1", Where::not_modelled},
    {"actor_train.strategy_args.strategy_config.moe_token_dispatcher_type=allgather", Where::not_modelled,
     experts_rlvr},
    {"++actor_train.strategy_args.strategy_config.moe_layer_recompute=true", Where::not_modelled, experts_rlvr},
    {"++actor_train.strategy_args.strategy_config.reshard_after_forward=false", Where::plan, fsdp_rlvr},
    {"actor_train.strategy_args.strategy_config.fsdp_size=4", Where::not_modelled, fsdp_rlvr},
    {"++actor_train.strategy_args.strategy_config.offload_policy=true", Where::plan, fsdp_rlvr},
    {"++actor_train.strategy_args.strategy_config.param_dtype=bf16", Where::not_modelled, fsdp_rlvr},
    {"++actor_train.strategy_args.strategy_config.reduce_dtype=bf16", Where::not_modelled, fsdp_rlvr},
    {"++actor_train.strategy_args.strategy_config.ep_size=4", Where::plan, fsdp_rlvr, "pretrain=Qwen/Qwen3-30B-A3B"},
    {"++actor_train.model_args.ulysses_size=2", Where::job, fsdp_rlvr},
    {"++actor_train.model_args.disable_gradient_checkpointing=true", Where::plan, fsdp_rlvr},
    {"++actor_train.model_args.disable_gradient_checkpointing=true", Where::ignored},
    {"actor_train.model_args.dtype=fp16", Where::not_modelled},
    {"actor_infer.model_args.dtype=fp32", Where::not_modelled},
    {"actor_train.model_args.attn_implementation=sdpa", Where::not_modelled, fsdp_rlvr},
    {"++actor_train.model_args.freeze_module_prefix=vision_model", Where::not_modelled},
    {"++actor_train.model_args.lora_target=all-linear", Where::job},
    {"++actor_train.model_args.lora_rank=16", Where::job, megatron_rlvr, adapters},
    // Batches.
    {"actor_train.training_args.per_device_train_batch_size=2", Where::job},
    {"actor_train.training_args.gradient_accumulation_steps=32", Where::job},
    {"critic.training_args.gradient_accumulation_steps=1", Where::not_modelled, fsdp_rlvr},
    {"actor_train.infer_batch_size=2", Where::plan},
    {"reference.infer_batch_size=2", Where::plan},
    {"rewards.llm_judge.infer_batch_size=8", Where::plan},
    {"++actor_train.use_dynamic_batching_in_train=true", Where::job, megatron_rlvr,
     "++actor_train.max_tokens_per_microbatch_in_train=12288"},
    {"actor_train.max_tokens_per_microbatch_in_train=24576", Where::job, megatron_rlvr,
     "++actor_train.max_tokens_per_microbatch_in_train=12288 ++actor_train.use_dynamic_batching_in_train=true"},
    {"++actor_train.max_tokens_per_microbatch_in_train=24576", Where::ignored},
    {"++actor_train.sequence_length_round_in_train=128", Where::not_modelled, megatron_rlvr, dynamic},
    {"++actor_train.use_dynamic_batching_in_infer=true", Where::plan, megatron_rlvr,
     "++actor_train.max_tokens_per_microbatch_in_infer=24576"},
    {"++actor_train.max_tokens_per_microbatch_in_infer=49152", Where::plan, megatron_rlvr, dynamic},
    {"++actor_train.sequence_length_round_in_infer=128", Where::not_modelled, megatron_rlvr, dynamic},
    {"++actor_train.use_sequence_packing=true", Where::job},
    {"++actor_train.sequence_packing_args.algorithm=none", Where::plan, megatron_rlvr, balanced},
    {"++actor_train.sequence_packing_args.max_packed_sequence_length_train=12288", Where::plan, megatron_rlvr,
     balanced},
    {"++actor_train.sequence_packing_args.max_packed_sequence_length_forward=12288", Where::plan, megatron_rlvr,
     balanced},
    {"++actor_train.sequence_packing_args.min_num_micro_batches_train=2", Where::not_modelled, megatron_rlvr, balanced},
    // Engines.
    {"actor_infer.strategy_args.strategy_config.tensor_parallel_size=4", Where::plan},
    {"++actor_infer.strategy_args.strategy_config.pipeline_parallel_size=2", Where::plan},
    {"actor_infer.strategy_args.strategy_config.gpu_memory_utilization=0.6", Where::plan},
    {"actor_infer.strategy_args.strategy_config.block_size=32", Where::not_modelled},
    {"actor_infer.strategy_args.strategy_config.max_model_len=4096", Where::not_modelled},
    {"++actor_infer.strategy_args.strategy_config.enforce_eager=true", Where::plan},
    {"++actor_infer.strategy_args.strategy_config.max_num_seqs=64", Where::plan},
    {"++actor_infer.strategy_args.strategy_config.max_num_batched_tokens=32768", Where::plan},
    {"++actor_infer.strategy_args.strategy_config.enable_chunked_prefill=false", Where::plan},
    {"++actor_infer.strategy_args.strategy_config.enable_prefix_caching=false", Where::not_modelled},
    {"++actor_infer.strategy_args.strategy_config.sleep_level=2", Where::not_modelled},
    {"++actor_infer.strategy_args.strategy_config.kv_cache_dtype=fp8", Where::not_modelled},
    {"++actor_infer.strategy_args.strategy_config.quantization=fp8", Where::not_modelled},
    {"actor_infer.strategy_args.strategy_config.mem_fraction_static=0.8", Where::plan, experts_rlvr},
    {"++actor_infer.strategy_args.strategy_config.ep_size=4", Where::plan, experts_rlvr},
    {"++actor_infer.strategy_args.strategy_config.disable_cuda_graph=true", Where::plan, experts_rlvr},
    {"++actor_infer.strategy_args.strategy_config.enable_memory_saver=false", Where::not_modelled, experts_rlvr},
    {"actor_infer.generating_args.num_beams=4", Where::not_modelled},
    {"++actor_infer.generating_args.num_return_sequences=2", Where::ignored},
    {"actor_infer.generating_args.max_new_tokens=100", Where::ignored},
    {"++rewards.math_rule.query_filter_config.type=mean_filter", Where::not_modelled},
    {"++rewards.math_rule.judge_model_type=api", Where::not_modelled},
};

class RollChangedSetting : public testing::TestWithParam<RollChange> {};

TEST_P(RollChangedSetting, ChangesWhatItSaysAndNothingIsDropped) {
  const RollChange& changed = GetParam();
  expect_changed(roll_told(changed.file, changed.given),
                 roll_told(changed.file, changed.given + " " + changed.override), changed.where);
}

INSTANTIATE_TEST_SUITE_P(Roll, RollChangedSetting, testing::ValuesIn(roll_changes));

struct RollRefusal {
  const char* overrides;
  const char* message;  ///< a part of it
  const char* file = megatron_rlvr;
};

TEST(RollConfiguration, RefusesWhatStopsRollOrIsNoJob) {
  const RollRefusal all[] = {
      {"adv_estimator=bananas", "accepted: gae, reinforce, grpo"},
      {"++async_generation_ratio=0.5", "accepted: 0, or at least 1"},
      {"++async_generation_ratio=1 ++generate_opt_level=0", "is 0 with async_generation_ratio"},
      {"actor_train.device_mapping=\"list(range(0,2))+list(range(14,16))\"", "do not follow each other"},
      {"actor_train.device_mapping=\"list([0,1,2,3,8,9,10,11])\"", "[0, 1, 2, 3, 8, 9, 10, 11]"},
      {"actor_train.device_mapping=\"sorted(range(8))\"", "accepted: lists of GPUs"},
      {"actor_train.device_mapping=null", "accepted: the role's GPUs"},
      {"actor_infer.device_mapping=\"list(range(4,12))\"", "accepted: devices of one node, or whole nodes"},
      {"actor_train.strategy_args.strategy_name=vllm", "accepted: megatron_train, fsdp2_train, deepspeed_train"},
      {"actor_infer.strategy_args.strategy_name=hf_infer", "accepted: vllm, sglang"},
      {"reference.strategy_args.strategy_name=vllm", "accepted: megatron_infer, fsdp2_infer"},
      {"actor_train.strategy_args.strategy_config.tensor_model_parallel_size=3", "does not divide the 16 GPUs"},
      {"++actor_train.strategy_args.strategy_config.virtual_pipeline_model_parallel_size=3", "does not divide the 28"},
      {"++actor_train.strategy_args.strategy_config.overlap_param_gather=true", "accepted: false"},
      {"rollout_batch_size=66", "accepted: a multiple of the 4 data parallel ranks"},
      {"actor_train.training_args.gradient_accumulation_steps=7", "does not divide the 512 samples"},
      {"++actor_train.router_replay.mode=R2", "accepted: disable, R3"},
      {"++actor_train.use_dynamic_batching_in_train=true", "max_tokens_per_microbatch_in_train"},
      {"++actor_train.use_dynamic_batching_in_train=true ++actor_train.max_tokens_per_microbatch_in_train=4096",
       "accepted: at least 6144"},
      {"++actor_train.use_sequence_packing=true ++actor_train.sequence_packing_args.algorithm=best",
       "accepted: none, load_balance"},
      {"++actor_train.use_sequence_packing=true ++actor_train.sequence_packing_args.algorithm=load_balance "
       "++actor_train.sequence_packing_args.max_packed_sequence_length_train=4096",
       "accepted: at least 6144"},
      {"actor_infer.strategy_args.strategy_config.tensor_parallel_size=5", "does not divide the 12 GPUs"},
      {"++actor_infer.strategy_args.strategy_config.data_parallel_size=2", "accepted: 1, or the 6 workers"},
      {"actor_infer.strategy_args.strategy_name=sglang ++actor_infer.num_gpus_per_worker=2", "mem_fraction_static"},
      {"++rewards.other={device_mapping:\"list(range(0,2))\"}", "a job has one model that judges"},
      {"++is_pure_opd=true", "teachers judge each token"},
      {"++use_opd=true", "teachers judge each token"},
      {"++train_env_manager.num_env_groups=8", "agents take turns with environments"},
      {"++val_prompt_length=1024", "accepted: both of val_prompt_length"},
      {"pretrain=x/Nothing-9B", "accepted: --model actor=NAME"},
      {"rewards.llm_judge.model_args.model_name_or_path=x/Nothing-9B", "accepted: --model reward=NAME"},
      {"++actor_train.model_args.model_name_or_path=a ++actor_infer.model_args.model_name_or_path=b "
       "++reference.model_args.model_name_or_path=a",
       "is another model than that of actor_train"},
      {"bananas=2", "bananas"},
      {"++actor_train.model_args.lora_target=all-linear", "is given with sglang", experts_rlvr},
      {"actor_infer.num_gpus_per_worker=3", "does not divide the 32 GPUs", experts_rlvr},
      {"++actor_infer.strategy_args.strategy_config.tensor_parallel_size=2", "other GPUs than their workers",
       experts_rlvr},
      {"++actor_train.model_args.ulysses_size=2 actor_train.strategy_args.strategy_config.fsdp_size=1",
       "accepted: at least as many", fsdp_rlvr},
      {"actor_train.strategy_args.strategy_config.fsdp_size=3", "accepted: a divisor of the 8 GPUs", fsdp_rlvr},
      {"sequence_length=1024", "accepted: more than prompt_length, 1024", fsdp_rlvr},
      {"sequence_length=null", "is not given, and ROLL stops", fsdp_rlvr},
      {"critic.device_mapping=null", "accepted: the role's GPUs", fsdp_rlvr},
      {"++reference.num_gpus_per_worker=3", "accepted: a divisor of the 8 GPUs of reference", fsdp_rlvr},
  };
  for (const RollRefusal& refused : all) {
    const base::Result<Import> read = roll(refused.file, refused.overrides);
    ASSERT_FALSE(read.ok()) << refused.overrides;
    EXPECT_NE(read.error().message.find(refused.message), std::string::npos)
        << refused.overrides << ": " << base::to_text(read.error());
  }
  for (const char* const other :
       {"sft_train: {device_mapping: list(range(0,8))}\n", "student_train: {}\nteacher: {}\n", "actor_train: {}\n"}) {
    const base::Result<Import> read = import_run("run.yaml", other, {});
    ASSERT_FALSE(read.ok()) << other;
    EXPECT_NE(read.error().message.find("accepted: configurations of start_rlvr_pipeline"), std::string::npos)
        << base::to_text(read.error());
  }
}

TEST(RollConfiguration, TakesTheClusterThatAUserSays) {
  ImportOptions options;
  options.cluster = "4x4xH200";
  const base::Result<Import> read = import_run("run.yaml", megatron_rlvr, options);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("cluster: {nodes: 4, gpus_per_node: 4, gpu: H200"), std::string::npos) << read->text;
  options.cluster = "1x8xH200";
  const base::Result<Import> small = import_run("run.yaml", megatron_rlvr, options);
  ASSERT_FALSE(small.ok());
  EXPECT_NE(small.error().message.find("accepted: at least 16 GPUs"), std::string::npos) << small.error().message;
}

TEST(RollConfiguration, OfALaunchScriptIsThatOfItsFile) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "roll_launch";
  std::filesystem::create_directories(folder / "examples" / "mine");
  std::filesystem::create_directories(folder / "examples" / "shared");
  ASSERT_TRUE(base::write_file((folder / "examples" / "shared" / "batch.yaml").string(),
                               "rollout_batch_size: 32\nprompt_length: 512\n")
                  .ok());
  std::string child = "defaults:\n  - ../shared/batch@_here_\n" + std::string(megatron_rlvr);
  child.replace(child.find("rollout_batch_size: 64\n"), 23, "");
  child.replace(child.find("prompt_length: 2048\n"), 20, "");
  ASSERT_TRUE(base::write_file((folder / "examples" / "mine" / "rlvr.yaml").string(), child).ok());
  ImportOptions options;
  options.root = folder.string();
  const std::string script =
      "#!/bin/bash\nset +x\nCONFIG_PATH=$(basename $(dirname $0))\n"
      "python examples/start_rlvr_pipeline.py --config_path $CONFIG_PATH  --config_name rlvr\n";
  const base::Result<Import> read = import_run((folder / "examples" / "mine" / "run.sh").string(), script, options);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->job.workload.prompts, 32);
  EXPECT_EQ(read->run.prompt_cap, 512);
  const auto refusal_of = [&](const std::string& line) {
    const base::Result<Import> import = import_run((folder / "run.sh").string(), line + "\n", options);
    EXPECT_FALSE(import.ok()) << line;
    return import.ok() ? std::string() : import.error().message;
  };
  const std::string start = "python examples/start_";
  EXPECT_NE(refusal_of(start + "agentic_pipeline.py --config_path mine --config_name rlvr").find("agents take turns"),
            std::string::npos);
  EXPECT_NE(refusal_of(start + "dpo_pipeline.py --config_path mine --config_name rlvr").find("without generation"),
            std::string::npos);
  EXPECT_NE(refusal_of(start + "rlvr_pipeline.py --config_path mine --config_name none").find("is not read"),
            std::string::npos);
  EXPECT_NE(refusal_of(start + "rlvr_pipeline.py --config_path mine").find("names no file"), std::string::npos);
  EXPECT_NE(refusal_of(start + "rlvr_pipeline.py --config_path mine --config_name rlvr a=1").find("stops at it"),
            std::string::npos);
}

TEST(RollConfiguration, WrappedByATrackerIsReadAsItIs) {
  const base::Result<Import> read = import_run("config.yaml",
                                               "wandb_version: 1\n"
                                               "rollout_batch_size: {value: 16}\n"
                                               "num_return_sequences_in_group: {value: 2}\n"
                                               "prompt_length: {value: 512}\n"
                                               "response_length: {value: 512}\n"
                                               "adv_estimator: {value: grpo}\n"
                                               "init_kl_coef: {value: 0}\n"
                                               "pretrain: {value: Qwen/Qwen3-4B}\n"
                                               "actor_train:\n"
                                               "  desc: null\n"
                                               "  value:\n"
                                               "    training_args: {per_device_train_batch_size: 1,\n"
                                               "                    gradient_accumulation_steps: 4}\n"
                                               "    strategy_args: {strategy_name: fsdp2_train}\n"
                                               "    device_mapping: [0, 1, 2, 3]\n"
                                               "actor_infer:\n"
                                               "  value:\n"
                                               "    strategy_args: {strategy_name: vllm}\n"
                                               "    device_mapping: [4, 5, 6, 7]\n",
                                               {});
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(planned(*read, "actor_generate").mesh, (cluster::Mesh{.first = 4, .count = 4}));
  EXPECT_FALSE(planned(*read, "actor_generate").offload.weights) << "on GPUs of their own engines do not sleep";
}

}  // namespace
}  // namespace dovetail::trainers
