#include "planner/space/choices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "cluster/cluster.h"
#include "cluster/mesh.h"
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

TEST(Choices, TrainingStepsOnTheHostIfNothingElseFits) {
  const OneTraining training{job_on("RTX-4090, host_memory: 64GB")};
  const std::vector<Choice> choices = training.choices();
  ASSERT_FALSE(choices.empty());
  EXPECT_TRUE(std::all_of(choices.begin(), choices.end(),
                          [](const Choice& choice) { return choice.planned.offload.optimizer_on_host; }));
  EXPECT_GT(training.least(false), training.usable());
  EXPECT_LT(training.least(true), training.usable());
  EXPECT_TRUE(training.choices(OptionSet::real).empty());
}

TEST(Choices, OptimizerStaysOnDevicesIfItFits) {
  const std::vector<Choice> choices = OneTraining{job_on("H100, host_memory: 64GB")}.choices();
  ASSERT_FALSE(choices.empty());
  EXPECT_TRUE(std::none_of(choices.begin(), choices.end(),
                           [](const Choice& choice) { return choice.planned.offload.optimizer_on_host; }));
}

TEST(Choices, NothingIsOnTheHostIfItDoesNotFitOrTheJobForbidsIt) {
  const OneTraining small_host{job_on("RTX-4090, host_memory: 4GB")};
  EXPECT_TRUE(small_host.choices().empty());
  EXPECT_FALSE(min_need(small_host.scenario, 0, one_device, {.optimizer_on_host = true}).has_value());
  const OneTraining kept{job_on("RTX-4090, host_memory: 64GB", "fixed: {actor_train: {offload: []}}\n")};
  EXPECT_TRUE(kept.choices().empty());
  EXPECT_FALSE(min_need(kept.scenario, 0, one_device, {.optimizer_on_host = true}).has_value());
}

TEST(Choices, FreeEngineLimitsFollowFixedOnes) {
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

TEST(Choices, CanBeRunByTheFramework) {
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
      // ReaL's search does not train on a single device.
      EXPECT_TRUE(!choices.empty() || option_set == OptionSet::real) << job.workflow.tasks[task].name;
      for (const Choice& choice : choices) EXPECT_TRUE(plan::runs(job, task, choice.planned));
      EXPECT_TRUE(choices_of(scenario, task, one_device, {option_set, true}).empty())
          << "no optimizer steps on the host";
    }
}

/// Returns the number of pairs of mesh and layout on nodes of eight.
std::size_t pairs_of(int nodes, const LayoutRules& rules) {
  cluster::Cluster cluster;
  cluster.groups.resize(1);
  cluster.groups[0].nodes = nodes;
  cluster.groups[0].devices_per_node = 8;
  cluster.networks.resize(1);
  std::size_t pairs = 0;
  for (const cluster::Mesh& mesh : cluster::meshes_of(cluster)) pairs += layouts_of(mesh.count, 8, rules).size();
  return pairs;
}

TEST(Layouts, CountMatchesReaLsSearch) {
  EXPECT_EQ(pairs_of(1, real_rules()), 22U);
  EXPECT_EQ(pairs_of(2, real_rules()), 58U);
  EXPECT_EQ(pairs_of(4, real_rules()), 176U);
  EXPECT_EQ(pairs_of(8, real_rules()), 620U);
  EXPECT_EQ(pairs_of(16, real_rules()), 2464U);
}

TEST(Layouts, CountMatchesTheLayoutsReaLKeeps) {
  // With 4 mini-batches (docs/facts.md#real-layouts-and-meshes): [nodes] for generation and inference, and for
  // training. There are enough sequences for all layouts.
  const std::map<int, std::pair<std::size_t, std::size_t>> kept = {
      {1, {22, 22}}, {2, {57, 53}}, {4, {164, 136}}, {8, {520, 356}}, {16, {2095, 1183}}};
  for (const auto& [nodes, pairs] : kept) {
    EXPECT_EQ(pairs_of(nodes, real_search_rules(nodes, 1024, 0)), pairs.first) << nodes;
    EXPECT_EQ(pairs_of(nodes, real_search_rules(nodes, 1024, 4)), pairs.second) << nodes;
  }
  // With 512 sequences, data times pipeline degree is at most 64 in training. That excludes one layout, dp8 tp1, on
  // each of 36 meshes of nine nodes or more.
  EXPECT_EQ(pairs_of(16, real_search_rules(16, 512, 4)), 1183U - 36U);
}

TEST(Layouts, MakeUpTheMesh) {
  for (const int devices : {1, 6, 8, 24, 96}) {
    for (const llm::Layout& layout : layouts_of(devices, devices < 8 ? devices : 8, {})) {
      EXPECT_EQ(layout.devices(), devices);
      EXPECT_LE(layout.tensor, 8);
    }
  }
}

TEST(Layouts, KeepTensorParallelGroupsInsideNodesOfAnySize) {
  for (const llm::Layout& layout : layouts_of(12, 6, {.powers_of_two = false})) EXPECT_EQ(6 % layout.tensor, 0);
  EXPECT_EQ(layouts_of(6, 6, {.powers_of_two = false}).size(), 4U + 2U + 2U + 1U);
}

TEST(Layouts, RespectTheMaximumStages) {
  for (const llm::Layout& layout : layouts_of(64, 8, {.max_stages = 4})) EXPECT_LE(layout.pipeline, 4);
}

}  // namespace
}  // namespace dovetail::planner
