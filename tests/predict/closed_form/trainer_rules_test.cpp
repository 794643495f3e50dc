#include "predict/closed_form/trainer_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/iteration_graph.h"
#include "support/jobs.h"
#include "support/spaces.h"

namespace dovetail::predict {
namespace {

using testing::HasSubstr;

const std::string node = "nodes: 1, gpus_per_node: 8, gpu: H100";

plan::Job job_of(const std::string& training, const std::string& fixed = "") {
  return test::ppo_job(node, "software: {framework: any, training: " + training + "}\n" + fixed);
}

base::Error error_of(const std::string& training, const std::string& fixed) {
  const auto software = software_of(job_of(training, "fixed: {" + fixed + "}\n"));
  return software.ok() ? base::Error{} : software.error();
}

/// Checks that the job's trainer can run the plan.
void expect_runnable(const plan::Job& job, const plan::Plan& plan) {
  const cost::Conventions conventions = conventions_of(job.software).value();
  const std::vector<TrainerFault> faults = trainer_faults(job, conventions, plan);
  EXPECT_TRUE(faults.empty()) << faults.front().message;
  const auto bound = linked_tasks(job, conventions);
  for (std::size_t task = 0; task < plan.tasks.size(); ++task)
    for (const std::size_t other : bound[task]) {
      EXPECT_EQ(plan.tasks[task].mesh, plan.tasks[other].mesh);
      EXPECT_TRUE(plan::share_weights(plan.tasks[task], plan.tasks[other]));
    }
}

TEST(TrainerRules, TheSearchRespectsThem) {
  for (const std::string training : {"verl-fsdp", "fsdp1", "deepspeed-zero"}) {
    const plan::Job job = job_of(training);
    const Scenario scenario = scenario_of(job, software_of(job).value());
    const planner::Ranking ranking = planner::rank_plans(scenario, test::quick_options()).value();
    ASSERT_FALSE(ranking.plans.empty()) << training;
    for (const planner::RankedPlan& ranked : ranking.plans) {
      expect_runnable(job, ranked.plan);
      EXPECT_TRUE(ranked.estimate.keeps_margin());
    }
  }
}

TEST(TrainerRules, AllowMegatronEverything) {
  const plan::Job job = job_of("megatron");
  for (const auto& bound : linked_tasks(job, conventions_of(job.software).value())) EXPECT_TRUE(bound.empty());
}

TEST(TrainerRules, RefusePinsAtTheirKey) {
  const base::Error tensor = error_of("verl-fsdp", "actor_train: {layout: {tp: 2}}");
  EXPECT_THAT(tensor.message,
              HasSubstr("actor_train: `tp` is 2, but verl-fsdp has no tensor parallelism; accepted: 1"));
  EXPECT_EQ(tensor.line, 8);
  EXPECT_EQ(tensor.column, 36);
  EXPECT_THAT(error_of("deepspeed-zero", "critic_train: {layout: {pp: 2}}").message,
              HasSubstr("no pipeline parallelism; accepted: 1"));
  EXPECT_THAT(error_of("fsdp1", "actor_train: {layout: {zero: 1}}").message,
              HasSubstr("`zero` is 1, which fsdp1 does not support; accepted: 3"));
  EXPECT_THAT(error_of("verl-fsdp", "critic_infer: {layout: {tp: 4}}").message, HasSubstr("no tensor parallelism"));
  EXPECT_THAT(
      error_of("verl-fsdp", "critic_infer: {devices: 0-3}, critic_train: {devices: 4-7}").message,
      HasSubstr("verl-fsdp uses one model for training and inference; accepted: the devices and layout of critic_"));
  EXPECT_EQ(error_of("deepspeed-zero", "actor_train: {layout: {tp: 2}}").message, "");
  EXPECT_EQ(error_of("megatron", "actor_train: {layout: {tp: 2, pp: 2, zero: 3}}").message, "");
}

TEST(TrainerRules, DeepSpeedHasTensorParallelismOnlyIfPinned) {
  const plan::Job expected = job_of("deepspeed-zero", "fixed: {critic_train: {layout: {tp: 2}}}\n");
  const test::Place place(expected);
  ASSERT_FALSE(planner::impossible_task(place.space));
  for (std::size_t task = 0; task < expected.workflow.tasks.size(); ++task) {
    if (place.space.links[task].empty()) continue;
    for (const auto& of_shape : place.space.choices[task])
      for (const planner::Choice& choice : of_shape) EXPECT_EQ(choice.planned.layout.tensor, 2);
  }
}

TEST(TrainerRules, FindUnsupportedSettingsOfAPlan) {
  const plan::Job job =
      test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100", "software: {framework: any, training: verl-fsdp}\n");
  const auto faults = trainer_faults(job, conventions_of(job.software).value(), test::pipelined_on_16(job));
  ASSERT_FALSE(faults.empty());
  EXPECT_TRUE(std::any_of(faults.begin(), faults.end(), [](const TrainerFault& fault) {
    return fault.message == "actor_train: `pp` is 4, but verl-fsdp has no pipeline parallelism; accepted: 1";
  }));
}

}  // namespace
}  // namespace dovetail::predict
