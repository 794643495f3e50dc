// Configurations that are known to fit or to fail, one of each kind. bench/fit_or_oom.cpp has all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "plan/job_file.h"
#include "plan/plan_file.h"
#include "predict/closed_form/memory.h"
#include "predict/closed_form/software.h"

namespace dovetail::predict {
namespace {

/// The limiting task and the memory it needs.
struct Limit {
  std::string task;
  TaskMemory memory;
};

Limit limit_of(const std::string& job_text, const std::string& tasks) {
  const plan::Job job = plan::parse_job("format: dovetail/job@1\n" + job_text, "job.yaml").value();
  const plan::Plan plan = plan::parse_plan("format: dovetail/plan@1\ntasks:\n" + tasks, "plan.yaml", job).value();
  const std::vector<TaskMemory> memory = task_memory(scenario_of(job, software_of(job).value()), plan);
  Limit limit;
  for (std::size_t task = 0; task < memory.size(); ++task) {
    if (job.workflow.tasks[task].kind == workflow::TaskKind::rule) continue;
    if (limit.task.empty() || memory[task].margin() < limit.memory.margin())
      limit = {job.workflow.tasks[task].name, memory[task]};
  }
  return limit;
}

std::string ppo_text(const std::string& models, const std::string& length, const std::string& cluster) {
  return "algorithm: ppo\nmodels: " + models +
         "\nworkload: {prompts: 64, mini_batch: 8, packing: false, prompt_length: " + length +
         ", response_length: " + length + "}\ncluster: " + cluster + "\nsoftware: {training: deepspeed-zero}\n";
}

/// All four models of PPO in one process per device, which generates with the trained weights.
std::string in_trainer(const std::string& devices, const std::string& layout, const std::string& generation,
                       const std::string& batch) {
  const auto task = [&](const std::string& name, const std::string& of_layout, const std::string& settings) {
    return "  - {task: " + name + ", devices: " + devices + ", layout: {" + of_layout + "}, " + settings + "}\n";
  };
  const std::string score = "micro_batch: {sequences: " + batch + "}";
  return task("actor_generate", generation,
              "engine: {own_weights: false, max_num_seqs: " + batch + "}, offload: [weights]") +
         task("reward_infer", layout, score) + task("reference_infer", layout, score + ", offload: [weights]") +
         task("critic_infer", layout, score) + task("actor_train", layout + ", recompute: full", score) +
         task("critic_train", layout + ", recompute: full", score);
}

const std::string small_critic =
    "{model_type: opt, num_hidden_layers: 24, hidden_size: 1024, num_attention_heads: 16, ffn_dim: 4096, vocab_size: "
    "50272, "
    "max_position_embeddings: 2048}";

// DeepSpeedExamples, issue 368: about 55 GB, so it runs on devices of 80 GB but not of 40 GB.
TEST(FitOrOom, TheFullActorGatheredToGenerateDecides) {
  const std::string models = "{actor: opt-13b, reward: " + small_critic + "}";
  const std::string plan = in_trainer("0-7", "dp: 8, zero: 3", "dp: 8", "1");
  const Limit large = limit_of(ppo_text(models, "256", "{nodes: 1, gpus_per_node: 8, gpu: A100-80}"), plan);
  EXPECT_EQ(large.task, "actor_generate");
  EXPECT_TRUE(large.memory.fits());
  EXPECT_NEAR(static_cast<double>(large.memory.needed()), 55e9, 4e9);
  EXPECT_FALSE(limit_of(ppo_text(models, "256", "{nodes: 1, gpus_per_node: 8, gpu: A100-40}"), plan).memory.fits());
}

// OpenRLHF, issue 277: ZeRO 2 keeps the full weights of all four models.
TEST(FitOrOom, FourModelsWithFullWeightsFail) {
  const Limit limit =
      limit_of(ppo_text("{actor: llama-2-13b, reward: llama-2-13b}", "1024", "{nodes: 1, gpus_per_node: 4, gpu: A800}"),
               in_trainer("0-3", "dp: 4, zero: 2", "dp: 4, zero: 2", "1"));
  EXPECT_FALSE(limit.memory.fits());
}

// OpenRLHF, issue 698: failed in the optimizer step, and ran with Adam on the host.
TEST(FitOrOom, AdamOnTheHostMovesItsStateAndGradients) {
  const std::string job =
      "algorithm: sft\nmodels: {actor: llama-3-8b}\nworkload: {prompts: 8, mini_batches: 8, packing: false, "
      "prompt_length: 64, "
      "response_length: 64}\ncluster: {nodes: 1, gpus_per_node: 1, gpu: A100-80}\nsoftware: {training: "
      "deepspeed-zero}\n";
  const auto plan = [](const std::string& offload) {
    return "  - {task: actor_train, devices: 0, layout: {zero: 2, recompute: full}, micro_batch: {sequences: 1}" +
           offload + "}\n";
  };
  EXPECT_FALSE(limit_of(job, plan("")).memory.fits());
  const Limit on_host = limit_of(job, plan(", offload: [optimizer_on_host]"));
  EXPECT_TRUE(on_host.memory.fits());
  EXPECT_LT(on_host.memory.needed(), 30'000'000'000);  // weights, and the needs of a short sequence
  EXPECT_EQ(on_host.memory.host,
            std::int64_t{8'030'261'248} * (8 + 4 + 4));  // moments, master weights, gradients in fp32
}

std::string grpo_plan(const std::string& devices, const std::string& engine, const std::string& layout,
                      const std::string& infer, const std::string& train) {
  const auto task = [&](const std::string& name, const std::string& settings) {
    return "  - {task: " + name + ", devices: " + devices + ", layout: {" + settings + "}\n";
  };
  return task("actor_generate", engine + ", offload: [weights]") +
         task("actor_infer", layout + "}, micro_batch: {" + infer + "}") +
         task("reference_infer", layout + "}, micro_batch: {" + infer + "}, offload: [weights]") +
         task("actor_train",
              layout + ", recompute: full}, micro_batch: {" + train + "}, offload: [weights, gradients, optimizer]");
}

// NeMo-RL, issue 493: logits of four sequences of 8192 tokens.
TEST(FitOrOom, LogProbabilitiesOfLongSequencesFailOnASmallDevice) {
  const std::string job =
      "algorithm: {name: grpo, reward: rule}\nmodels: {actor: {model_type: qwen2, num_hidden_layers: 28, hidden_size: "
      "1536, "
      "num_attention_heads: 12, num_key_value_heads: 2, intermediate_size: 8960, vocab_size: 151936}}\n"
      "workload: {prompts: 64, samples_per_prompt: 16, packing: false, prompt_length: 256, response_length: 7936}\n"
      "cluster: {nodes: 1, gpus_per_node: 1, gpu: A6000}\nsoftware: {training: fsdp2}\n";
  const Limit limit = limit_of(
      job, grpo_plan("0", "dp: 1}, engine: {memory_utilization: 0.6}", "zero: 3", "sequences: 4", "sequences: 1"));
  EXPECT_FALSE(limit.memory.fits());
  EXPECT_EQ(limit.task, "actor_infer");
  EXPECT_EQ(limit.memory.parts.front().kind, MemoryKind::logits);
}

// verl's tuning scripts: the minimum devices for 72B. A device's 40 sequences are below the token limit.
TEST(FitOrOom, AMicroBatchIsNoLargerThanADevicesShare) {
  const std::string job =
      "algorithm: {name: grpo, reward: rule}\nmodels: {actor: qwen2-72b}\nworkload: {prompts: 1024, "
      "samples_per_prompt: 5, "
      "mini_batches: 4, prompt_length: {p50: 100, p90: 140, cap: 512}, response_length: {p50: 220, p90: 380, cap: "
      "512}}\n"
      "cluster: {nodes: 4, gpus_per_node: 8, gpu: H800}\nsoftware: {framework: any, training: verl-fsdp}\n";
  const Limit limit = limit_of(job, grpo_plan("0-31", "dp: 2, tp: 16}, engine: {memory_utilization: 0.6}",
                                              "dp: 32, zero: 3", "tokens: 24000", "tokens: 24000"));
  EXPECT_TRUE(limit.memory.fits());
  EXPECT_EQ(limit.task, "actor_train");
}

}  // namespace
}  // namespace dovetail::predict
