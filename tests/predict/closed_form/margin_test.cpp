#include "predict/closed_form/margin.h"

#include <gtest/gtest.h>

#include "support/jobs.h"

namespace dovetail::predict {
namespace {

const std::string node = "nodes: 1, gpus_per_node: 8, gpu: H100";

planner::Ranking ranking_of(const plan::Job& job) {
  return planner::rank_plans(scenario_of(job, software_of(job).value()), test::quick_options()).value();
}

TEST(MinMargin, IsWhatTheConventionsWereOffBy) {
  for (const std::string_view name : cost::conventions_names()) {
    const plan::Job job = test::ppo_job(node, "software: {training: " + std::string(name) + "}\n");
    const Software software = software_of(job).value();
    EXPECT_EQ(min_margin(scenario_of(job, software)).share, std::max(0.04, software.conventions.memory_error)) << name;
  }
}

TEST(MinMargin, IsWhatTheJobSays) {
  const plan::Job job = test::ppo_job(node, "limits: {margin: 10GiB}\n");
  const Scenario scenario = scenario_of(job, software_of(job).value());
  const cluster::Gpu& gpu = job.cluster.groups.front().gpu;
  EXPECT_EQ(plan_memory(scenario, gpu), gpu.usable_memory - (std::int64_t{10} << 30));
}

TEST(MinMargin, IsLeftByEveryPlan) {
  const plan::Job wide = test::ppo_job(node, "limits: {margin: 30%}\n");
  const planner::Ranking ranking = ranking_of(wide);
  ASSERT_FALSE(ranking.plans.empty());
  for (const planner::RankedPlan& ranked : ranking.plans)
    for (const TaskMemory& memory : ranked.estimate.memory)
      if (memory.usable > 0) {
        EXPECT_GE(memory.margin(), memory.usable * 3 / 10);
      }
}

TEST(MinMargin, CostsTimeAndNeverGainsAny) {
  double last = 0;
  for (const std::string margin : {"0", "20%", "40%"}) {
    const planner::Ranking ranking = ranking_of(test::ppo_job(node, "limits: {margin: " + margin + "}\n"));
    ASSERT_FALSE(ranking.plans.empty());
    EXPECT_GE(ranking.bound, last * (1 - 1e-9)) << margin;
    last = ranking.bound;
  }
}

TEST(Fit, IsTightInsideTheMargin) {
  TaskMemory memory;
  memory.usable = 100;
  memory.min_margin = 10;
  memory.parts = {{MemoryKind::logits, {}, 90}};
  EXPECT_EQ(memory.fit(), Fit::fits);
  memory.parts.front().bytes = 91;
  EXPECT_EQ(memory.fit(), Fit::tight);
  EXPECT_TRUE(memory.fits());
  memory.parts.front().bytes = 101;
  EXPECT_EQ(memory.fit(), Fit::does_not_fit);
  memory.parts.front().bytes = 50;
  memory.host = 1;
  EXPECT_EQ(memory.fit(), Fit::does_not_fit) << "in host memory";
}

}  // namespace
}  // namespace dovetail::predict
