#include "study/fusion_variants.h"

#include <gtest/gtest.h>

#include "support/jobs.h"

namespace dovetail::study {
namespace {

TEST(FusionVariants, AccountForTheWholeIteration) {
  const plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 4, gpu: H100, host_memory: 1TB");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  plan::Plan plan = planner::rank_plans(scenario, test::quick_options()).value().plans.front().plan;
  if (!plan::find_threshold_fault(0.2, job, plan.tasks)) plan.fusion.threshold = 0.2;
  ASSERT_TRUE(plan.fusion.any());
  predict::Simulator simulator(scenario, {});
  const predict::Simulation simulation = simulator.simulate(plan).value();
  const std::vector<FusionVariant> variants = simulate_fusion_variants(simulator, plan, simulation).value();
  EXPECT_EQ(variants.size(), plan.fusion.threshold && plan.fusion.training ? 4U : 2U);
  EXPECT_EQ(variants.front().mode, FusionMode::none);
  EXPECT_FALSE(variants.front().is_simulated_plan);
  EXPECT_TRUE(variants.back().is_simulated_plan);
  EXPECT_EQ(variants.back().seconds, simulation.iteration_seconds);
  for (const FusionVariant& variant : variants) {
    const double sum = base::seconds_of_ticks(simulate::busy_time(variant.uses)) +
                       base::seconds_of_ticks(simulate::idle_time(variant.uses));
    EXPECT_NEAR(sum / cluster::device_count(job.cluster), variant.seconds, 1e-6) << base::enum_name(variant.mode);
  }
}

TEST(FusionVariants, AreEmptyWithoutFusion) {
  const plan::Job job = test::grpo_job();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const plan::Plan plan = test::co_located(job);
  predict::Simulator simulator(scenario, {});
  EXPECT_TRUE(simulate_fusion_variants(simulator, plan, simulator.simulate(plan).value()).value().empty());
}

}  // namespace
}  // namespace dovetail::study
