#include "trainers/openrlhf/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "trainers/verl/imported.h"

namespace dovetail::trainers {
namespace {

const std::string ppo =
    "#!/bin/bash\nray job submit -- python3 -m openrlhf.cli.train_ppo_ray --actor.model_name_or_path Qwen/Qwen3-8B "
    "--reward.model_name_or_path Qwen/Qwen3-4B --vllm.num_engines 4 --vllm.tensor_parallel_size 2 "
    "--train.colocate_all --vllm.enable_sleep --ds.enable_sleep --ds.zero_stage 3 --ds.packing_samples "
    "--rollout.batch_size 256 --rollout.n_samples_per_prompt 2 --rollout.max_new_tokens 1024 ";

std::string old_names() {
  return "#!/bin/bash\npython3 -m openrlhf.cli.train_ppo_ray --pretrain Qwen/Qwen3-8B --reward_pretrain Qwen/Qwen3-4B "
         "--vllm_num_engines 4 --vllm_tensor_parallel_size=2 --colocate_all_models --vllm_enable_sleep "
         "--deepspeed_enable_sleep --zero_stage 3 --packing_samples --rollout_batch_size 256 --n_samples_per_prompt 2 "
         "--max_new_tokens 1024 ";
}

TEST(OpenrlhfConfiguration, OfPpoIsAJobAndAPlan) {
  const auto read = imported(ppo);
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->trainer, "openrlhf");
  EXPECT_EQ(read->text,
            "format: dovetail/job@1\nname: run\n"
            "algorithm: {name: ppo, reference: pass, reward: model, policy_log_probabilities: trainer}\n"
            "models:\n  actor: qwen3-8b\n  critic: qwen3-4b\n  reward: qwen3-4b\n"
            "workload:\n  prompts: 256\n  samples_per_prompt: 2\n  mini_batch: 128\n  epochs: 1\n"
            "  prompt_length: 1024\n  response_length: 1024\n"
            "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100-80}\nsoftware: {framework: openrlhf, training: "
            "deepspeed-zero}\n");
}

TEST(OpenrlhfConfiguration, OldNamesAreThePresentOnes) {
  const Told now = told(ppo);
  const Told before = told(old_names());
  EXPECT_EQ(now.job, before.job);
  EXPECT_EQ(now.plan, before.plan);
}

TEST(OpenrlhfConfiguration, EachFlagChangesJobPlanOrWhatIsNotModelled) {
  const Told plain = told(ppo);
  for (const char* flag :
       {"--rollout.batch_size 512", "--train.batch_size 64", "--train.max_epochs 2", "--data.max_len 4096",
        "--rollout.max_new_tokens 512", "--algo.kl.init_coef 0", "--algo.advantage.estimator group_norm",
        "--ds.lora.rank 8", "--critic.model_name_or_path Qwen/Qwen3-8B", "--reward.remote_url http://a/b"})
    EXPECT_NE(told(ppo + flag).job, plain.job) << flag;
  for (const char* flag :
       {"--vllm.gpu_memory_utilization 0.5", "--vllm.enforce_eager", "--train.dynamic_batch_enable",
        "--train.micro_batch_size 4", "--rollout.micro_batch_size 4", "--ds.zero_stage 2", "--ds.adam_offload",
        "--ds.tensor_parallel_size 2", "--ds.ring_attn_size 2", "--actor.gradient_checkpointing_enable",
        "--ref.offload", "--reward.offload", "--vllm.num_engines 2 --vllm.tensor_parallel_size 4"})
    EXPECT_NE(told(ppo + flag).plan, plain.plan) << flag;
  for (const char* flag : {"--ds.zpg 8", "--ds.load_in_4bit", "--ds.overlap_comm", "--ds.param_dtype fp16",
                           "--vllm.sync_backend gloo", "--vllm.enable_prefix_caching", "--actor.optim muon"})
    EXPECT_NE(told(ppo + flag).not_modelled, plain.not_modelled) << flag;
  EXPECT_THAT(told(ppo + "--ds.grad_accum_dtype fp32").job, testing::HasSubstr(R"("gradient_type": "fp32")"));
}

TEST(OpenrlhfConfiguration, RefusesWhatStopsItAtStart) {
  for (const char* flag :
       {"--vllm.num_engines 3", "--ref.num_gpus_per_node 4", "--algo.advantage.estimator rloo --rollout.n_samples 1",
        "--vllm.num_engines 0", "--train.async_enable", "--train.partial_rollout_enable", "--eval.dataset a",
        "--rollout.vllm_generate_batch_size 512", "--algo.dynamic_filtering_enable", "--ds.packing_samples=1",
        "--data.max_images_per_prompt 1", "--rollout.micro_batch_size 256", "--train.batch_size many",
        "--train.batch_size", "--train.col", "--algo.advantage.estimator banana", "--train.batch_size 100"}) {
    const auto read = imported(ppo + flag);
    ASSERT_FALSE(read.ok()) << flag;
    EXPECT_GT(read.error().line, 0) << flag << ": " << base::to_text(read.error());
  }
}

TEST(OpenrlhfConfiguration, EnginesThatSleepLeaveTheirWeightsRoom) {
  const auto offload = [](const std::string& script) {
    const auto read = imported(script);
    EXPECT_TRUE(read.ok()) << base::to_text(read.error());
    return planned(*read, "actor_generate").offload.weights;
  };
  EXPECT_TRUE(offload(ppo));
  std::string awake = ppo;
  const std::string flag = "--vllm.enable_sleep ";
  EXPECT_FALSE(offload(awake.erase(awake.find(flag), flag.size())));
}

TEST(OpenrlhfConfiguration, SeparateRolesHaveGpusOfTheirOwn) {
  const auto read = imported(
      "#!/bin/bash\npython3 -m openrlhf.cli.train_ppo_ray --actor.model_name_or_path Qwen/Qwen3-8B "
      "--reward.remote_url rule.py --vllm.num_engines 4 --vllm.tensor_parallel_size 2 --train.colocate_actor_ref "
      "--critic.num_gpus_per_node 8");
  ASSERT_TRUE(read.ok()) << base::to_text(read.error());
  EXPECT_EQ(read->run.cluster.nodes, 3);
}

}  // namespace
}  // namespace dovetail::trainers
