#include "planner/space/choices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "plan/framework.h"
#include "plan/job_file.h"
#include "planner/space/search_space.h"

namespace dovetail::planner {
namespace {

constexpr cluster::Mesh one_device{0, 1};

plan::Job job_on(const std::string& gpu, const std::string& more = "") {
  return plan::parse_job(
             "format: dovetail/job@1\nalgorithm: sft\nmodels: {actor: qwen2.5-1.5b}\n"
             "workload: {prompts: 64, prompt_length: 256, response_length: 512}\n"
             "cluster: {nodes: 1, gpus_per_node: 1, gpu: " +
                 gpu + "}\n" + more,
             "job.yaml")
      .value();
}

struct OneTraining {
  explicit OneTraining(plan::Job of)
      : job(std::move(of)), scenario(predict::scenario_of(job, predict::software_of(job).value())) {}
  OneTraining(const OneTraining&) = delete;
  OneTraining& operator=(const OneTraining&) = delete;

  plan::Job job;
  predict::Scenario scenario;

  std::vector<Choice> choices(OptionSet option_set = OptionSet::all) const {
    return make_search_space(scenario, search_meshes(job), {.option_set = option_set}, 1).choices[0][0];
  }
  std::int64_t least(bool on_host) const {
    return min_need(scenario, 0, one_device, {.optimizer_on_host = on_host})->bytes;
  }
  std::int64_t usable() const { return cluster::gpu_of(job.cluster, base::DeviceId(0)).usable_memory; }
};

TEST(Choices, ATrainingWithoutRoomElseStepsOnTheHost) {
  const OneTraining training{job_on("RTX-4090, host_memory: 64GB")};
  const std::vector<Choice> choices = training.choices();
  ASSERT_FALSE(choices.empty());
  EXPECT_TRUE(std::all_of(choices.begin(), choices.end(),
                          [](const Choice& choice) { return choice.planned.offload.optimizer_on_host; }));
  EXPECT_GT(training.least(false), training.usable());
  EXPECT_LT(training.least(true), training.usable());
  EXPECT_TRUE(training.choices(OptionSet::real).empty());
}

TEST(Choices, WhereDevicesHaveRoomTheOptimizerStaysThere) {
  const std::vector<Choice> choices = OneTraining{job_on("H100, host_memory: 64GB")}.choices();
  ASSERT_FALSE(choices.empty());
  EXPECT_TRUE(std::none_of(choices.begin(), choices.end(),
                           [](const Choice& choice) { return choice.planned.offload.optimizer_on_host; }));
}

TEST(Choices, NothingIsOnTheHostThatHasNoRoomOrThatTheJobKeepsOnDevices) {
  const OneTraining small_host{job_on("RTX-4090, host_memory: 4GB")};
  EXPECT_TRUE(small_host.choices().empty());
  EXPECT_FALSE(min_need(small_host.scenario, 0, one_device, {.optimizer_on_host = true}).has_value());
  const OneTraining kept{job_on("RTX-4090, host_memory: 64GB", "fixed: {actor_train: {offload: []}}\n")};
  EXPECT_TRUE(kept.choices().empty());
  EXPECT_FALSE(min_need(kept.scenario, 0, one_device, {.optimizer_on_host = true}).has_value());
}

TEST(Choices, WhatIsFreeOfAnEnginesLimitsFollowsWhatIsFixed) {
  const auto engines = [](const std::string& fixed) {
    const plan::Job job =
        plan::parse_job(
            "format: dovetail/job@1\nalgorithm: grpo\nmodels: {actor: qwen2.5-1.5b, reward: qwen2.5-1.5b}\n"
            "workload: {prompts: 64, prompt_length: 256, response_length: 512}\n"
            "cluster: {nodes: 1, gpus_per_node: 1, gpu: H100}\nfixed: {actor_generate: {engine: {" +
                fixed + "}}}\n",
            "job.yaml")
            .value();
    const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
    const std::size_t generate = workflow::find_task(job.workflow, "actor_generate")->index();
    std::vector<plan::Engine> found;
    for (const Choice& choice : choices_of(scenario, generate, one_device, {})) found.push_back(choice.planned.engine);
    return found;
  };
  ASSERT_FALSE(engines("max_num_batched_tokens: 100").empty());
  for (const plan::Engine& engine : engines("max_num_batched_tokens: 100")) EXPECT_EQ(engine.max_num_seqs, 100);
  ASSERT_FALSE(engines("max_num_seqs: 9000").empty());
  for (const plan::Engine& engine : engines("max_num_seqs: 9000")) EXPECT_EQ(engine.max_num_batched_tokens, 9000);
}

TEST(Choices, AreThoseThatTheFrameworkRuns) {
  const plan::Job job =
      plan::parse_job(
          "format: dovetail/job@1\nalgorithm: {name: ppo, reward: rule}\nsoftware: {framework: dovetail}\n"
          "models: {actor: qwen2.5-0.5b, critic: qwen2.5-0.5b}\n"
          "workload: {prompts: 64, prompt_length: 256, response_length: 512}\n"
          "cluster: {nodes: 1, gpus_per_node: 1, gpu: {name: CPU-16, memory: 128GiB, bandwidth: 200GB/s, bf16: "
          "1TFLOP/s}}\n",
          "job.yaml")
          .value();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  EXPECT_EQ(scenario.software.conventions.name, "dovetail");
  for (const OptionSet option_set : {OptionSet::all, OptionSet::real})
    for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task) {
      if (job.workflow.tasks[task].kind == workflow::TaskKind::rule) continue;
      const std::vector<Choice> choices = choices_of(scenario, task, one_device, {.option_set = option_set});
      // ReaL's search trains on no single device.
      EXPECT_TRUE(!choices.empty() || option_set == OptionSet::real) << job.workflow.tasks[task].name;
      for (const Choice& choice : choices) EXPECT_TRUE(plan::runs(job, task, choice.planned));
      EXPECT_TRUE(choices_of(scenario, task, one_device, {option_set, true}).empty()) << "it steps nothing on the host";
    }
}

}  // namespace
}  // namespace dovetail::planner
