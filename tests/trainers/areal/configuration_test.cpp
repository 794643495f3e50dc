#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "trainers/areal/areal.h"
#include "trainers/areal/configurations.h"

namespace dovetail::trainers {
namespace {

TEST(ArealConfiguration, ImportsGrpoOnFsdp) {
  const base::Result<Import> read = areal(fsdp_grpo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->trainer, "areal");
  EXPECT_EQ(read->text,
            "format: dovetail/job@1\n"
            "name: run\n"
            "algorithm: {name: grpo, reference: pass, reward: rule, policy_log_probabilities: trainer}\n"
            "models:\n"
            "  actor: qwen2.5-1.5b\n"
            "workload:\n"
            "  prompts: 64\n"
            "  samples_per_prompt: 4\n"
            "  mini_batch: 128\n"
            "  epochs: 1\n"
            "  steps_off_policy: 2\n"
            "  prompt_length: 512\n"
            "  response_length: 1024\n"
            "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100-80}\n"
            "software: {framework: areal, training: fsdp2, weight_type: bf16, gradient_type: bf16, moment_type: bf16, "
            "engine: sglang}\n"
            "fixed:\n"
            "  actor_generate: {devices: \"4-7\"}\n"
            "  reference_infer: {devices: \"0-3\"}\n"
            "  actor_infer: {devices: \"0-3\"}\n"
            "  actor_train: {devices: \"0-3\"}\n");
  const plan::TaskPlan& train = planned(*read, "actor_train");
  EXPECT_EQ(train.mesh.count, 4);
  EXPECT_EQ(llm::to_text(train.layout), "dp4 tp1 pp1 zero3 recompute");
  EXPECT_EQ(train.micro_batching.tokens, 10240);
  EXPECT_EQ(train.offload, plan::Offload{});
  EXPECT_EQ(llm::to_text(planned(*read, "actor_infer").layout), "dp4 tp1 pp1 zero3");
  const plan::TaskPlan& reference = planned(*read, "reference_infer");
  EXPECT_EQ(reference.mesh, train.mesh);
  EXPECT_EQ(reference.micro_batching.tokens, 20480);
  const plan::TaskPlan& generate = planned(*read, "actor_generate");
  EXPECT_EQ(llm::to_text(generate.layout), "dp4 tp1 pp1");
  EXPECT_FALSE(cluster::overlap(generate.mesh, train.mesh));
  EXPECT_EQ(generate.engine.memory_utilization, 0.8);
  EXPECT_EQ(generate.engine.max_num_seqs, 64);  // 64 groups of 4 at once, on 4 instances
  EXPECT_FALSE(generate.engine.chunked_prefill);
}

TEST(ArealConfiguration, MegatronPpoHasASeparateCritic) {
  const base::Result<Import> read = areal(megatron_ppo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("{name: ppo, reference: skip, reward: rule, policy_log_probabilities: engine}"),
            std::string::npos)
      << read->text;
  EXPECT_NE(read->text.find("critic: qwen3-30b-a3b"), std::string::npos) << read->text;
  EXPECT_NE(read->text.find("software: {framework: areal, training: megatron-policy}"), std::string::npos)
      << read->text;
  const plan::TaskPlan& actor = planned(*read, "actor_train");
  EXPECT_EQ(llm::to_text(actor.layout), "dp2 tp2 pp2 ep4 zero1 sp recompute");
  const plan::TaskPlan& critic = planned(*read, "critic_train");
  EXPECT_EQ(llm::to_text(critic.layout), "dp2 tp2 pp2 ep4 zero1 sp");
  const plan::TaskPlan& generate = planned(*read, "actor_generate");
  for (const auto& [one, other] :
       {std::pair{&actor, &critic}, std::pair{&actor, &generate}, std::pair{&critic, &generate}})
    EXPECT_FALSE(cluster::overlap(one->mesh, other->mesh));
  EXPECT_EQ(llm::to_text(generate.layout), "dp4 tp2 pp1");
  EXPECT_EQ(generate.engine.max_num_seqs, 256);
}

TEST(ArealConfiguration, ArchonHasAnInterleavedPipelineAndSelectiveRecomputation) {
  const base::Result<Import> read = areal(archon_grpo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(llm::to_text(planned(*read, "actor_train").layout), "dp4 tp1 pp2 vpp2 zero3 selective");
}

TEST(ArealConfiguration, ColocatedRolloutAndActorOffloadForEachOther) {
  const base::Result<Import> read = areal(fsdp_grpo, areal_sharing);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  const plan::TaskPlan& train = planned(*read, "actor_train");
  EXPECT_EQ(planned(*read, "actor_generate").mesh, train.mesh);
  EXPECT_EQ(train.offload, (plan::Offload{.weights = true, .gradients = true, .optimizer = true}));
  EXPECT_TRUE(planned(*read, "actor_generate").offload.weights);
}

TEST(ArealConfiguration, OlderVersionsColocateCriticAndReference) {
  const base::Result<Import> read = areal(old_grpo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(llm::to_text(planned(*read, "actor_train").layout), "dp2 tp1 pp2 zero1");
  EXPECT_EQ(planned(*read, "reference_infer").mesh, planned(*read, "actor_train").mesh);
  const std::string ignored = findings_text(*read, read->run.ignored);
  for (const char* gone : {"launcher", "async_training", "actor.behave_imp_weight_cap"})
    EXPECT_NE(ignored.find(gone), std::string::npos) << ignored;
}

TEST(ArealConfiguration, OneStringForAllEqualsOneForEach) {
  const std::string rest(std::string_view(old_grpo).substr(std::string_view(old_grpo).find('\n') + 1));
  const ImportedText before = imported_text_of("run.yaml", old_grpo);
  const ImportedText now =
      imported_text_of("run.yaml", rest,
                       areal_overrides("+rollout.backend=\"sglang:d4p1t1\" +actor.backend=megatron:d2p2t1 "
                                       "+ref.backend=megatron:d2p2t1 +ref.scheduling_strategy.type=colocation "
                                       "+ref.scheduling_strategy.target=actor"));
  EXPECT_EQ(before.job, now.job);
  EXPECT_EQ(before.plan, now.plan);
  // If both are given, the engines' own strings apply.
  const ImportedText both =
      imported_text_of("run.yaml", fsdp_grpo, areal_overrides("+allocation_mode=sglang:d2+fsdp:d6"));
  EXPECT_EQ(both.job, areal_text(fsdp_grpo).job);
  EXPECT_EQ(both.plan, areal_text(fsdp_grpo).plan);
  EXPECT_NE(both.ignored.find("allocation_mode"), std::string::npos);
}

TEST(ArealConfiguration, OneNodeHasTheGpusThatItsEnginesNeed) {
  const base::Result<Import> read = areal(fsdp_grpo, "cluster.n_gpus_per_node=4");
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("{nodes: 1, gpus_per_node: 8"), std::string::npos) << read->text;
  EXPECT_NE(findings_text(*read, read->run.assumed).find("modeled as a node with 8 GPUs"), std::string::npos);
}

TEST(ArealConfiguration, UsesTheGivenCluster) {
  ImportOptions options;
  options.cluster = "6x4xA100";
  const base::Result<Import> read = import_run("areal:run.yaml", megatron_ppo, options);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_NE(read->text.find("{nodes: 6, gpus_per_node: 4"), std::string::npos) << read->text;
  options.cluster = "2x4xA100";
  EXPECT_FALSE(import_run("areal:run.yaml", megatron_ppo, options).ok());
}

TEST(ArealConfiguration, ALaunchScriptAppliesOverridesToItsFile) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "areal_launch";
  std::filesystem::create_directories(folder / "configs");
  ASSERT_TRUE(base::write_file((folder / "configs" / "grpo.yaml").string(), fsdp_grpo).ok());
  ImportOptions options;
  options.root = folder.string();
  options.arguments = {"gconfig.n_samples=8"};
  for (const char* start :
       {"python3 train.py --config configs/grpo.yaml",
        "python3 -m areal.infra.launcher.local train.py --config "
        "configs/grpo.yaml",
        "python3 tools/prepare.py --config tools/data.yaml\npython -m areal.launcher.ray train.py --config=$CONFIG"}) {
    const std::string script = std::string("#!/bin/bash\nCONFIG=configs/grpo.yaml\n") + start +
                               " train_dataset.batch_size=128 +scheduler.type=local +trial_name=$NAME \"$@\"\n";
    const base::Result<Import> read = import_run((folder / "run.sh").string(), script, options);
    ASSERT_TRUE(read.ok()) << start << base::to_text(read.error());
    EXPECT_EQ(read->trainer, "areal");
    EXPECT_EQ(read->job.workload.prompts, 128);
    EXPECT_EQ(read->job.workload.samples_per_prompt, 8);
  }
  for (const char* wrong : {"python3 train.py --config $X\n", "python3 train.py --config nowhere.yaml\n",
                            "python3 train.py --config configs/grpo.yaml gconfig.bananas=2\n",
                            "python3 -m areal.infra.launcher.local train.py\n"})
    EXPECT_FALSE(import_run((folder / "run.sh").string(), wrong, options).ok()) << wrong;
}

TEST(ArealConfiguration, AcceptsTheFormThatArealSaves) {
  const std::string content(fsdp_grpo);
  const std::string more =
      "  scheduling_spec: !!python/tuple\n"
      "  - cpu: 8\n"
      "    env_vars: {}\n"
      "  - {cpu: 4}\n"
      "  megatron: {recompute_granularity: full}\n";
  const std::size_t at = content.find("ref:\n");
  const ImportedText saved =
      imported_text_of("run.yaml", content.substr(0, at) + more + content.substr(at) + "critic: null\nteacher: null\n");
  const ImportedText plain = areal_text(fsdp_grpo);
  EXPECT_EQ(saved.job, plain.job);
  EXPECT_EQ(saved.plan, plain.plan);
}

TEST(ArealConfiguration, DiffersFromOtherTrainersScripts) {
  // A program with a configuration in a script that also runs a known trainer only prepares or evaluates.
  const std::string script =
      "python3 prepare.py --config data.yaml\n"
      "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen3-8B "
      "actor_rollout_ref.rollout.name=vllm algorithm.adv_estimator=grpo actor_rollout_ref.actor.use_dynamic_bsz=True\n";
  const base::Result<Import> read = import_run("run.sh", script, {});
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->trainer, "verl");
}

}  // namespace
}  // namespace dovetail::trainers
