#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "trainers/openrlhf/openrlhf.h"
#include "trainers/openrlhf/scripts.h"

namespace dovetail::trainers {
namespace {

std::string old_names() {
  return "#!/bin/bash\npython3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen3-8B --reward_pretrain Qwen/Qwen3-4B "
         "--vllm_num_engines 4 --vllm_tensor_parallel_size=2 --colocate_all_models --vllm_enable_sleep "
         "--deepspeed_enable_sleep --zero_stage 3 --packing_samples --rollout_batch_size 256 --n_samples_per_prompt 2 "
         "--max_new_tokens 1024 ";
}

TEST(OpenrlhfConfiguration, ImportsPpo) {
  const auto read = imported(openrlhf_ppo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->trainer, "openrlhf");
  EXPECT_EQ(read->text,
            "format: dovetail/job@1\nname: run\n"
            "algorithm: {name: ppo, reference: pass, reward: model, policy_log_probabilities: trainer}\n"
            "models:\n  actor: qwen3-8b\n  critic: qwen3-4b\n  reward: qwen3-4b\n"
            "workload:\n  prompts: 256\n  samples_per_prompt: 2\n  mini_batch: 128\n  epochs: 1\n"
            "  prompt_length: 1024\n  response_length: 1024\n"
            "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100-80}\nsoftware: {framework: openrlhf, training: "
            "deepspeed-zero, loss_entropy: none}\n");
}

TEST(OpenrlhfConfiguration, AcceptsOldNames) {
  const ImportedText now = imported_text(openrlhf_ppo);
  const ImportedText before = imported_text(old_names());
  EXPECT_EQ(now.job, before.job);
  EXPECT_EQ(now.plan, before.plan);
}

TEST(OpenrlhfConfiguration, SleepingEnginesFreeTheirWeights) {
  const auto offload = [](const std::string& script) {
    const auto read = imported(script);
    EXPECT_TRUE(read.ok()) << base::to_text(read.error());
    return planned(*read, "actor_generate").offload.weights;
  };
  EXPECT_TRUE(offload(openrlhf_ppo));
  std::string awake = openrlhf_ppo;
  const std::string flag = "--vllm.enable_sleep ";
  EXPECT_FALSE(offload(awake.erase(awake.find(flag), flag.size())));
}

TEST(OpenrlhfConfiguration, SeparateRolesHaveSeparateGpus) {
  const auto read = imported(
      "#!/bin/bash\npython3 -m openrlhf.cli.train_ppo_ray --actor.model_name_or_path Qwen/Qwen3-8B "
      "--reward.remote_url rule.py --vllm.num_engines 4 --vllm.tensor_parallel_size 2 --train.colocate_actor_ref "
      "--critic.num_gpus_per_node 8");
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->run.cluster.nodes, 3);
}

TEST(OpenrlhfConfiguration, NotesThatPromptsAreNotCached) {
  const std::string note = "the prompt of a group is computed for each sample";
  for (const bool caches : {false, true}) {
    const auto read = imported(openrlhf_ppo + (caches ? "--vllm.enable_prefix_caching" : ""));
    ASSERT_TRUE(read.ok()) << base::to_text(read.error());
    EXPECT_EQ(findings_text(*read, read->run.not_modelled).find(note) == std::string::npos, caches);
  }
}

}  // namespace
}  // namespace dovetail::trainers
