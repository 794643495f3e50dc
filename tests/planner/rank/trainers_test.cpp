// Plans found for a trainer's job can be run by that trainer.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "plan/framework.h"
#include "plan/plan_file.h"
#include "planner/rank/rank.h"
#include "predict/closed_form/estimate.h"
#include "support/jobs.h"

namespace dovetail::planner {
namespace {

using workflow::TaskKind;

std::string random_job(const std::string& software) {
  const std::string models = *rc::gen::element<std::string>("{actor: qwen3-1.7b, critic: qwen3-4b, reward: qwen3-0.6b}",
                                                            "{actor: qwen3-8b, critic: qwen3-1.7b, reward: qwen3-4b}");
  const bool ppo = *rc::gen::arbitrary<bool>();
  const bool is_areal = software.find("areal") != std::string::npos;
  const bool pads = software.find("roll, training: fsdp2") != std::string::npos;
  const std::string reward = is_areal ? "rule" : *rc::gen::element<std::string>("rule", "model");
  const std::string nodes = *rc::gen::element<std::string>("1", "2");
  const std::string lengths = *rc::gen::element<std::string>("1024", "{mean: 900, p90: 2000, cap: 4096}");
  std::string roles = ppo ? models : models.substr(0, models.find(", critic")) + models.substr(models.find(", reward"));
  if (reward == "rule") roles = roles.substr(0, roles.find(", reward")) + "}";
  return "format: dovetail/job@1\nalgorithm: {name: " + std::string(ppo ? "ppo" : "grpo") + ", reward: " + reward +
         "}\nsoftware: " + software + "\nmodels: " + roles +
         "\nworkload: {prompts: 128, samples_per_prompt: " + (ppo ? "1" : "4") +
         ", mini_batches: 2, prompt_length: 512, response_length: " + lengths + (pads ? ", packing: false" : "") +
         "}\ncluster: {nodes: " + nodes + ", gpus_per_node: 8, gpu: H100, host_memory: 2TB}\n";
}

RC_GTEST_PROP(TrainersProperty, PlansKeepToTheirFramework, ()) {
  const std::string software = *rc::gen::element<std::string>(
      "{framework: verl}", "{framework: verl, training: megatron-policy}", "{framework: openrlhf}",
      "{framework: nemo-rl}", "{framework: nemo-rl, training: fsdp2}", "{framework: areal}",
      "{framework: areal, training: megatron-policy}", "{framework: roll}", "{framework: roll, training: fsdp2}",
      "{framework: slime}");
  const std::string text = random_job(software);
  RC_LOG() << text;
  const plan::Job job = plan::parse_job(text, "job.yaml").value();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  RankOptions options = test::quick_options();
  options.simulated = 0;
  const auto ranking = rank_plans(scenario, options);
  RC_ASSERT(ranking.ok());
  RC_ASSERT(!ranking->plans.empty());
  for (const RankedPlan& ranked : ranking->plans) {
    const auto found = plan::find_disagreement(job, ranked.plan.tasks);
    RC_ASSERT(!found.has_value());
    double sum = 0;
    for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task) {
      if (job.workflow.tasks[task].kind == TaskKind::rule) continue;
      RC_ASSERT(plan::runs(job, task, ranked.plan.tasks[task], plan::RuleScope::search));
      sum += ranked.estimate.activities[task].seconds;
    }
    // Reading the written plan gives the same plan.
    const auto again = plan::parse_plan(plan::plan_to_json(ranked.plan, job), "plan.json", job);
    RC_ASSERT(again.ok());
    // On one pool nothing runs in parallel. The judges of NeMo-RL and slime have separate devices.
    const bool has_pools = software.find("nemo") != std::string::npos ||
                           (software.find("slime") != std::string::npos && text.find("reward: model") != text.npos);
    if (!has_pools) RC_ASSERT(ranked.estimate.iteration_seconds > 0.999 * sum);
  }
}

TEST(Trainers, KeepFixedSettingsThatAreNotSearched) {
  const plan::Job job =
      plan::parse_job(
          "format: dovetail/job@1\nalgorithm: {name: grpo, reference: pass, reward: rule}\n"
          "software: {framework: roll, training: fsdp2}\nmodels: {actor: qwen3-4b}\n"
          "workload: {prompts: 64, samples_per_prompt: 8, prompt_length: 512, response_length: 1024, packing: false}\n"
          "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100, host_memory: 2TB}\n"
          "fixed: {reference_infer: {layout: {zero: 0}}}\n",
          "job.yaml")
          .value();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const Ranking ranking = rank_plans(scenario, test::quick_options()).value();
  ASSERT_FALSE(ranking.plans.empty());
  const std::size_t reference = workflow::find_task(job.workflow, "reference_infer")->index();
  for (const RankedPlan& ranked : ranking.plans) EXPECT_EQ(ranked.plan.tasks[reference].layout.zero, 0);
}

/// ROLL with an engine on one and a half nodes, and a judge on the rest.
TEST(Trainers, KeepPoolsThatShareANode) {
  const plan::Job job =
      plan::parse_job(
          "format: dovetail/job@1\nalgorithm: {name: grpo, reference: pass, reward: model}\n"
          "software: {framework: roll}\nmodels: {actor: qwen3-8b, reward: qwen3-4b}\n"
          "workload: {prompts: 128, samples_per_prompt: 4, prompt_length: 512, response_length: 1024}\n"
          "cluster: {nodes: 2, gpus_per_node: 8, gpu: H100, host_memory: 2TB}\n"
          "fixed: {actor_generate: {devices: 0-11}, reward_infer: {devices: 12-15}, actor_infer: {devices: 0-15}, "
          "reference_infer: {devices: 0-15}, actor_train: {devices: 0-15}}\n",
          "job.yaml")
          .value();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  RankOptions options = test::quick_options();
  options.simulated = 0;
  const auto ranking = rank_plans(scenario, options);
  ASSERT_TRUE(ranking.ok());
  ASSERT_FALSE(ranking->plans.empty());
  for (const RankedPlan& ranked : ranking->plans)
    for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
      EXPECT_EQ(ranked.plan.tasks[task].mesh, *job.fixed[task].mesh) << job.workflow.tasks[task].name;
}

/// OpenRLHF with separate pools: tasks that it starts together run together, and the next iteration waits for both
/// trainings.
TEST(Trainers, OpenrlhfWaitsForAllOfAStage) {
  const std::string tail =
      "models: {actor: qwen3-8b, critic: qwen3-8b}\n"
      "workload: {prompts: 64, mini_batches: 2, prompt_length: 512, response_length: 1024}\n"
      "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}\n";
  const auto seconds_of = [&](const std::string& software, std::vector<double>& activities) {
    const plan::Job job =
        plan::parse_job(
            "format: dovetail/job@1\nalgorithm: {name: ppo, reward: rule}\nsoftware: " + software + "\n" + tail,
            "job.yaml")
            .value();
    const plan::Plan plan =
        plan::parse_plan(
            "format: dovetail/plan@1\ntasks:\n"
            "  - {task: actor_generate, devices: 6-7, layout: {tp: 2}}\n"
            "  - {task: actor_train, devices: 0-3, layout: {dp: 4, zero: 3}, micro_batch: {tokens: 4096}}\n"
            "  - {task: critic_infer, devices: 4-5, layout: {dp: 2, zero: 3}, micro_batch: {tokens: 4096}}\n"
            "  - {task: critic_train, devices: 4-5, layout: {dp: 2, zero: 3}, micro_batch: {tokens: 4096}}\n"
            "  - {task: reference_infer, devices: 0-3, layout: {dp: 4, zero: 3}, micro_batch: {tokens: "
            "4096}}\n",
            "plan.yaml", job)
            .value();
    const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
    const predict::Estimate estimate = predict::estimate(scenario, plan);
    const auto longest = [&](TaskKind kind) {
      double most = 0;
      for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
        if (job.workflow.tasks[task].kind == kind) most = std::max(most, estimate.activities[task].seconds);
      return most;
    };
    activities = {longest(TaskKind::generate), longest(TaskKind::infer), longest(TaskKind::train)};
    return estimate.iteration_seconds;
  };
  std::vector<double> stages;
  const double waited = seconds_of("{framework: openrlhf}", stages);
  const double ideal = seconds_of("{training: deepspeed-zero}", stages);
  EXPECT_GE(waited, 0.999 * (stages[0] + stages[1] + stages[2]));
  EXPECT_LT(ideal, 0.98 * waited);
}

TEST(Trainers, NameTasksThatDoNotFitTogether) {
  const plan::Job job = plan::parse_job(
                            "format: dovetail/job@1\nalgorithm: {name: ppo, reward: rule}\n"
                            "software: {framework: any, training: verl-fsdp}\n"
                            "models: {actor: qwen3-1.7b, critic: qwen3-32b}\n"
                            "workload: {prompts: 64, prompt_length: 512, response_length: 1024}\n"
                            "cluster: {nodes: 2, gpus_per_node: 8, gpu: H100, host_memory: 100GB}\n"
                            "fixed: {critic_infer: {devices: 0-3}}\n",
                            "job.yaml")
                            .value();
  const auto ranking = rank_plans(predict::scenario_of(job, predict::software_of(job).value()), test::quick_options());
  ASSERT_FALSE(ranking.ok());
  EXPECT_EQ(ranking.error().failure, base::Failure::infeasible);
  EXPECT_EQ(ranking.error().message,
            "critic_infer must share devices with critic_train, but there is no mesh on which all of them fit");
}

TEST(Trainers, AMiniBatchTooSmallForAllDevicesLeavesNoLayout) {
  const auto ranked = [](int mini_batches) {
    const plan::Job job =
        plan::parse_job(
            "format: dovetail/job@1\nalgorithm: {name: ppo, reward: rule, reference: pass}\n"
            "models: {actor: qwen3-4b, critic: qwen3-4b}\nsoftware: {framework: roll, training: fsdp2}\n"
            "workload: {prompts: 64, packing: false, prompt_length: 512, response_length: 512, mini_batches: " +
                std::to_string(mini_batches) +
                "}\ncluster: {nodes: 4, gpus_per_node: 8, gpu: H200, host_memory: 2TB}\n",
            "job.yaml")
            .value();
    return rank_plans(predict::scenario_of(job, predict::software_of(job).value()), test::quick_options());
  };
  EXPECT_TRUE(ranked(2).ok());
  const auto nothing = ranked(4);
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().failure, base::Failure::infeasible);
  EXPECT_EQ(nothing.error().message,
            "no layout of actor_train that roll runs exists on this cluster: degrees must divide the heads and layers, "
            "their product must be the number of devices, and a mini-batch needs a sample for each stage of each "
            "data-parallel rank");
}

}  // namespace
}  // namespace dovetail::planner
