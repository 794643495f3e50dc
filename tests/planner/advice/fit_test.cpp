#include "planner/advice/fit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "planner/advice/changes.h"
#include "support/jobs.h"

namespace dovetail::planner {
namespace {

const RankOptions quick = test::quick_options();

std::int64_t min_margin(const predict::Estimate& estimate) {
  return estimate.memory[min_margin_task(estimate.memory)].margin();
}

/// Returns whether the search finds a plan that fits on the cluster.
bool search_fits(plan::Job job, const cluster::Cluster& cluster) {
  job.cluster = cluster;
  const auto ranking = rank_plans(predict::scenario_of(job, predict::software_of(job).value()), quick);
  return ranking.ok() && !ranking.value().plans.empty();
}

TEST(Fit, LengthsGrowToTheLongest) {
  const plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const Ranking ranking = rank_plans(scenario, quick).value();
  const plan::Plan& plan = ranking.plans.front().plan;
  const std::vector<GrownLengths> rows = grow_lengths(scenario, plan);
  ASSERT_GE(rows.size(), 4U);
  EXPECT_FALSE(rows.front().length.has_value());
  EXPECT_EQ(rows.back().length, 1024);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    plan::Job grown = job;
    if (rows[row].length) grown.workload.response_length = workflow::LengthDistribution::fixed(*rows[row].length);
    const predict::Estimate estimate = predict::estimate(predict::scenario_of(grown, scenario.software), plan);
    EXPECT_EQ(rows[row].fit, estimate.fit());
    EXPECT_EQ(rows[row].margin, min_margin(estimate));
    EXPECT_EQ(rows[row].iteration_seconds, estimate.iteration_seconds);
    if (row > 1) {
      EXPECT_GT(*rows[row].length, *rows[row - 1].length);
      EXPECT_GT(rows[row].iteration_seconds, rows[row - 1].iteration_seconds);
    }
  }
  EXPECT_EQ(grow_lengths(predict::scenario_of(test::grpo_job(), scenario.software), test::co_located(test::grpo_job()))
                .size(),
            1U);
}

TEST(Fit, LengthsOfAStoppedScenarioAreLeftOut) {
  const plan::Job job = test::grpo_job();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const parallel::Cancellation over(nullptr, 0.0);
  EXPECT_TRUE(grow_lengths(predict::stopped_by(scenario, over), test::co_located(job)).empty());
}

TEST(Fit, ReportsLengthsThatDoNotFit) {
  plan::Job job = test::grpo_job();
  // A limit in sequences rather than tokens: memory grows with their length.
  job.workload.packing = false;
  job.workload.response_length = workflow::LengthDistribution::of({{128, 1}, {256, 1}, {2048, 1}}).value();
  plan::Plan plan = test::co_located(job);
  plan.tasks.front().engine.memory_utilization = 0.2;
  const std::size_t train = plan.tasks.size() - 1;
  ASSERT_EQ(job.workflow.tasks[train].name, "actor_train");
  const predict::Software software = predict::software_of(job).value();
  const std::vector<GrownLengths> rows = grow_lengths(predict::scenario_of(job, software), plan);
  EXPECT_EQ(rows[1].length, 1216);
  EXPECT_LT(rows.back().margin, rows[1].margin);
  // Just enough for 1.5 times the mean.
  job.cluster.groups.front().gpu.usable_memory -= rows[1].margin;
  const std::vector<GrownLengths> scarce = grow_lengths(predict::scenario_of(job, software), plan);
  EXPECT_EQ(scarce[1].fit, predict::Fit::tight);
  EXPECT_EQ(scarce[1].margin, 0);
  EXPECT_EQ(scarce.back().fit, predict::Fit::does_not_fit);
  EXPECT_EQ(scarce.back().margin, rows.back().margin - rows[1].margin);
  EXPECT_EQ(scarce.back().task, train);
}

TEST(Fit, MaxMarginPlanHasTheLargestMargin) {
  for (const char* cluster :
       {"nodes: 1, gpus_per_node: 8, gpu: H100", "nodes: 2, gpus_per_node: 4, gpu: A100-40, host_memory: 200GB"}) {
    const plan::Job job = test::ppo_job(cluster);
    const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
    const JobFit fit = fit_job(scenario, quick).value();
    ASSERT_TRUE(fit.max_margin.has_value());
    const predict::Estimate estimate = predict::estimate(scenario, fit.max_margin->plan);
    EXPECT_TRUE(estimate.fits());
    for (const RankedPlan& ranked : fit.ranking.plans) EXPECT_GE(min_margin(estimate), min_margin(ranked.estimate));
    EXPECT_GT(min_margin(estimate), min_margin(fit.fastest()->estimate) + (std::int64_t{1} << 30));
  }
}

TEST(Fit, NothingFitsOnOneNodeLess) {
  const plan::Job job = test::ppo_job("nodes: 4, gpus_per_node: 2, gpu: A100-40, host_memory: 60GB");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const auto smallest = min_cluster(scenario, quick);
  ASSERT_TRUE(smallest.has_value());
  EXPECT_TRUE(smallest->ranked.estimate.fits());
  const int nodes = cluster::node_count(smallest->cluster);
  ASSERT_GT(nodes, 1);
  EXPECT_LT(nodes, 4);
  EXPECT_FALSE(search_fits(job, with_nodes(job.cluster, nodes - 1)));
  EXPECT_TRUE(search_fits(job, smallest->cluster));
}

TEST(Fit, TriesFewerDevicesOfANode) {
  const plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100");
  const auto smallest = min_cluster(predict::scenario_of(job, predict::software_of(job).value()), quick);
  ASSERT_TRUE(smallest.has_value());
  EXPECT_EQ(cluster::node_count(smallest->cluster), 1);
  const int devices = cluster::device_count(smallest->cluster);
  EXPECT_LT(devices, 8);
  if (devices > 1) {
    cluster::Cluster less = smallest->cluster;
    less.groups.front().devices_per_node = devices / 2;
    EXPECT_FALSE(search_fits(job, less));
  }
}

TEST(Fit, AJobThatDoesNotFitGetsMoreNodes) {
  const plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 1, gpu: A100-40, host_memory: 60GB");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const JobFit fit = fit_job(scenario, quick).value();
  EXPECT_EQ(fit.fastest(), nullptr);
  EXPECT_TRUE(!fit.impossible.empty() || fit.ranking.nearest.has_value());
  ASSERT_TRUE(fit.smallest.has_value());
  const int nodes = cluster::node_count(fit.smallest->cluster);
  EXPECT_GT(nodes, 1);
  EXPECT_FALSE(search_fits(job, with_nodes(job.cluster, nodes - 1)));
}

TEST(Fit, PinnedDevicesStay) {
  const plan::Job job =
      test::ppo_job("nodes: 4, gpus_per_node: 8, gpu: H100", "fixed: {actor_train: {devices: 8-15}}\n");
  const auto smallest = min_cluster(predict::scenario_of(job, predict::software_of(job).value()), quick);
  ASSERT_TRUE(smallest.has_value());
  EXPECT_EQ(cluster::node_count(smallest->cluster), 2);
  const auto train = std::find_if(job.workflow.tasks.begin(), job.workflow.tasks.end(),
                                  [](const workflow::Task& task) { return task.name == "actor_train"; });
  EXPECT_EQ(smallest->ranked.plan.tasks[static_cast<std::size_t>(train - job.workflow.tasks.begin())].mesh,
            (cluster::Mesh{8, 8}));
}

TEST(Fit, UsesOnlyTheRequestedPlacements) {
  const plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100");
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  RankOptions options = quick;
  options.placements = {Placement::disaggregated};
  const JobFit fit = fit_job(scenario, options).value();
  ASSERT_TRUE(fit.max_margin && fit.smallest);
  EXPECT_EQ(fit.fastest()->placement, Placement::disaggregated);
  EXPECT_EQ(fit.max_margin->placement, Placement::disaggregated);
  EXPECT_EQ(fit.smallest->ranked.placement, Placement::disaggregated);
}

TEST(Fit, NodesAreTakenFromTheEnd) {
  const plan::Job job =
      test::ppo_job("groups: [{nodes: 2, gpus_per_node: 8, gpu: H100}, {nodes: 2, gpus_per_node: 4, gpu: A100-40}]");
  EXPECT_EQ(with_nodes(job.cluster, 4), job.cluster);
  EXPECT_EQ(cluster::device_count(with_nodes(job.cluster, 3)), 20);
  EXPECT_EQ(with_nodes(job.cluster, 2).groups.size(), 1U);
  EXPECT_EQ(cluster::device_count(with_nodes(job.cluster, 1)), 8);
  EXPECT_EQ(cluster::device_count(with_nodes(job.cluster, 6)), 32);
}

}  // namespace
}  // namespace dovetail::planner
