#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "trainers/roll/configurations.h"
#include "trainers/roll/roll.h"

namespace dovetail::trainers {
namespace {

TEST(RollConfiguration, IsReadFromTheHeadOfALog) {
  const std::string head =
      "2026-02-03 10:00:00 INFO scripts.py:1392 -- Did not find any active Ray processes.\n"
      "start_rlvr_pipeline.py:19: Hydra14MigrationWarning: \nThe version_base parameter is not specified.\n"
      "  initialize(config_path=args.config_path)\nAdded logging to file: /logs/log_rank_DRIVER_0_1.log\n";
  const std::string tail =
      "\n[2026-02-03 10:00:01] [rlvr_config.py (62)] [INFO] [DRIVER 0 / 1][PID 77] max_steps: 10\n"
      "WorkerConfig(name='actor_train')\n";
  const ImportedText plain = imported_text_of("run.yaml", megatron_rlvr);
  const ImportedText logged = imported_text_of("run.yaml", head + megatron_rlvr + tail);
  EXPECT_EQ(logged.job, plain.job);
  EXPECT_EQ(logged.plan, plain.plan);
  const std::string broken = std::string(megatron_rlvr) + "reward_normalization: [1\n";
  const auto read = import_run("run.log", head + broken + tail, {});
  ASSERT_FALSE(read.ok());
  EXPECT_GT(read.error().line, 5) << "places are those of the log: " << base::to_text(read.error());
}

TEST(RollConfiguration, ImportsMegatron) {
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
            "software: {framework: roll, training: roll-megatron}\n"
            "fixed:\n"
            "  actor_generate: {devices: \"0-11\"}\n"
            "  reward_infer: {devices: \"12-15\", layout: {zero: 0}}\n"
            "  reference_infer: {devices: \"0-15\"}\n"
            "  actor_infer: {devices: \"0-15\"}\n"
            "  actor_train: {devices: \"0-15\"}\n");
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
  EXPECT_EQ(generate.engine.max_num_seqs, 128) << "ROLL's scheduler sends an instance at most this many";
  EXPECT_TRUE(generate.offload.weights);
  const plan::TaskPlan& judge = planned(*read, "reward_infer");
  EXPECT_EQ(judge.mesh, (cluster::Mesh{.first = 12, .count = 4}));
  EXPECT_EQ(judge.micro_batching.sequences, 4);
}

TEST(RollConfiguration, ExpertsAreParallelInTrainingAndInEngines) {
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
  EXPECT_TRUE(planned(*tensor, "actor_train").layout.sequence_parallel) << "expert parallelism enables it";
}

TEST(RollConfiguration, FsdpShardsAllAndKeepsItsOptimizer) {
  const base::Result<Import> read = roll(fsdp_rlvr);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("name: ppo, reference: pass, reward: rule, policy_log_probabilities: trainer"),
            std::string::npos)
      << read->text;
  EXPECT_NE(read->text.find("critic: qwen3-4b\n"), std::string::npos) << read->text;
  EXPECT_NE(read->text.find("response_length: 2048\n"), std::string::npos) << read->text;
  EXPECT_NE(read->text.find("software: {framework: roll, training: fsdp2}"), std::string::npos) << read->text;
  const plan::TaskPlan& train = planned(*read, "actor_train");
  EXPECT_EQ(llm::to_text(train.layout), "dp8 tp1 pp1 zero3 recompute");
  EXPECT_EQ(train.offload, (plan::Offload{.weights = true, .gradients = false, .optimizer = false}));
  EXPECT_EQ(llm::to_text(planned(*read, "critic_train").layout), "dp8 tp1 pp1 zero3 recompute");
  EXPECT_EQ(planned(*read, "critic_infer").micro_batching.sequences, 16);
  EXPECT_EQ(llm::to_text(planned(*read, "reference_infer").layout), "dp8 tp1 pp1");
  EXPECT_NE(read->text.find("fixed:\n  reference_infer: {layout: {zero: 0}}\n"), std::string::npos)
      << "another backend, which shards nothing\n"
      << read->text;
}

TEST(RollConfiguration, DynamicBatchesHaveTokensAndPadding) {
  const base::Result<Import> read = roll(megatron_rlvr, roll_dynamic);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("packing: false"), std::string::npos);
  // Two sequences of 6144 tokens fit. A step has 16 micro-batches for each of 4 copies.
  EXPECT_NE(read->text.find("mini_batch: 128\n"), std::string::npos) << read->text;
  EXPECT_EQ(planned(*read, "actor_train").micro_batching.tokens, 12288);
  EXPECT_EQ(planned(*read, "actor_infer").micro_batching.tokens, 24576);
}

TEST(RollConfiguration, PackedSequencesHaveNoPadding) {
  const base::Result<Import> read = roll(megatron_rlvr, roll_balanced);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->text.find("packing: false"), std::string::npos) << read->text;
  EXPECT_EQ(planned(*read, "actor_train").micro_batching.tokens, 8192);
  EXPECT_EQ(planned(*read, "actor_infer").micro_batching.tokens, 16384);
  const base::Result<Import> plain = roll(megatron_rlvr, "++actor_train.use_sequence_packing=true");
  ASSERT_TRUE(plain.ok()) << base::to_text(plain.error());
  EXPECT_TRUE(plain->run.packing);
  EXPECT_EQ(planned(*plain, "actor_train").micro_batching.sequences, 1);
}

TEST(RollConfiguration, AdaptersPlaceTheReferenceWithTheActor) {
  const base::Result<Import> read = roll(megatron_rlvr, roll_adapters);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("actor: {model: qwen2.5-7b, lora: 32}"), std::string::npos) << read->text;
  EXPECT_EQ(planned(*read, "reference_infer").layout, planned(*read, "actor_infer").layout);
}

TEST(RollConfiguration, AsynchronousGenerationIsOffPolicyAndDoesNotSleep) {
  const base::Result<Import> read =
      roll(megatron_rlvr, "++async_generation_ratio=1.5 actor_infer.device_mapping=\"list(range(16,24))\"");
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->job.workload.steps_off_policy, 2);
  EXPECT_FALSE(planned(*read, "actor_generate").offload.weights);
  EXPECT_NE(findings_text(*read, read->run.not_modelled).find("1.5: some samples are one step newer"),
            std::string::npos);
}

TEST(RollConfiguration, NotesThatPromptsAreNotCached) {
  const std::string note = "the prompt of a group is computed for each sample";
  for (const bool caches : {false, true}) {
    const base::Result<Import> read = roll(
        megatron_rlvr, fmt::format("++actor_infer.strategy_args.strategy_config.enable_prefix_caching={}", caches));
    ASSERT_TRUE(read.ok()) << base::to_text(read.error());
    EXPECT_EQ(findings_text(*read, read->run.not_modelled).find(note) == std::string::npos, caches);
  }
}

TEST(RollConfiguration, CountsEmbeddingAndLossAsLayers) {
  // Qwen3-30B-A3B has 48 layers. Embedding and loss make 50 for five stages.
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

TEST(RollConfiguration, UsesTheGivenCluster) {
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

TEST(RollConfiguration, ALaunchScriptUsesItsFile) {
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
  const auto rejection_of = [&](const std::string& line) {
    const base::Result<Import> import = import_run((folder / "run.sh").string(), line + "\n", options);
    EXPECT_FALSE(import.ok()) << line;
    return import.ok() ? std::string() : import.error().message;
  };
  const std::string start = "python examples/start_";
  EXPECT_NE(rejection_of(start + "agentic_pipeline.py --config_path mine --config_name rlvr").find("agents' turns"),
            std::string::npos);
  EXPECT_NE(rejection_of(start + "dpo_pipeline.py --config_path mine --config_name rlvr").find("without generation"),
            std::string::npos);
  EXPECT_NE(rejection_of(start + "rlvr_pipeline.py --config_path mine --config_name none")
                .find("cannot read `examples/mine/none.yaml`"),
            std::string::npos);
  EXPECT_NE(rejection_of(start + "rlvr_pipeline.py --config_path mine").find("needs a configuration file"),
            std::string::npos);
  EXPECT_NE(rejection_of(start + "rlvr_pipeline.py --config_path mine --config_name rlvr a=1")
                .find("ROLL rejects the argument"),
            std::string::npos);
}

TEST(RollConfiguration, AcceptsTheTrackersForm) {
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
  EXPECT_FALSE(planned(*read, "actor_generate").offload.weights) << "engines on separate GPUs do not sleep";
}

}  // namespace
}  // namespace dovetail::trainers
