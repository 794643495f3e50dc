// Fit of jobs and plans, through the library.
#include "answer/plans/fit.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "answer/plans/example_jobs.h"
#include "plan/plan_file.h"
#include "planner/advice/changes.h"

namespace dovetail::answer {
namespace {

using nlohmann::json;

/// Estimate of an entry's plan on the given cluster.
predict::Estimate estimate_of(const FitAnswer& answer, const json& entry, const cluster::Cluster& cluster) {
  plan::Job job = answer.scenario.job;
  job.cluster = cluster;
  const predict::Scenario scenario = predict::scenario_of(job, answer.scenario.software);
  return predict::estimate(scenario, plan::parse_plan(entry["plan"].dump(), "entry", job).value());
}

TEST(Fit, JsonPlansMatchTheirMargins) {
  FitRequest request{.job = example("ppo-7b.yaml"), .search = short_search()};
  const FitAnswer answer = answer_to(request, {}).value();
  const json object = json::parse(to_json(answer));
  ASSERT_TRUE(answer.job && answer.job->fastest() != nullptr && answer.job->max_margin && answer.job->smallest);
  const cluster::Cluster& own = answer.scenario.job.cluster;
  const planner::FittingCluster& smallest = *answer.job->smallest;
  EXPECT_EQ(estimate_of(answer, object["fastest"], own).timing.period, answer.job->fastest()->estimate.timing.period);
  EXPECT_EQ(estimate_of(answer, object["roomiest"], own).timing.period, answer.job->max_margin->estimate.timing.period);
  EXPECT_EQ(estimate_of(answer, object["smallest_cluster"]["plan"], smallest.cluster).timing.period,
            smallest.ranked.estimate.timing.period);
}

TEST(Fit, JsonNearestPlanMatchesItsMissingBytes) {
  FitRequest request{.job = example("ppo-7b.yaml"), .search = short_search()};
  std::string text = read_input(request.job).value();
  const std::string devices = "gpus_per_node: 8";
  ASSERT_NE(text.find(devices), std::string::npos);
  request.job.text = text.replace(text.find(devices), devices.size(), "gpus_per_node: 1");
  const FitAnswer answer = answer_to(request, {}).value();
  EXPECT_EQ(answer.outcome, Outcome::infeasible);
  const json object = json::parse(to_json(answer));
  ASSERT_TRUE(object.contains("nearest")) << object.dump().substr(0, 1000);
  const planner::NearestPlan& nearest = *answer.job->ranking.nearest;
  const predict::Estimate estimate = estimate_of(answer, object["nearest"], answer.scenario.job.cluster);
  EXPECT_EQ(object["nearest"]["missing_bytes"], nearest.missing);
  EXPECT_EQ(estimate.fit(), nearest.fit);
  EXPECT_GE(object["nearest"]["missing_bytes"].get<std::int64_t>(), planner::missing_of(estimate.memory).bytes);
}

TEST(Fit, SortsTasksByMargin) {
  const FitAnswer answer =
      answer_to(FitRequest{.job = example("ppo-7b.yaml"), .plan = example("ppo-7b.plan.yaml")}, {}).value();
  EXPECT_FALSE(answer.job.has_value());
  const std::vector<predict::TaskMemory>& memory = answer.plan->estimate.memory;
  const std::vector<std::size_t> tasks = tasks_by_margin(memory);
  for (std::size_t index = 1; index < tasks.size(); ++index)
    EXPECT_LE(memory[tasks[index - 1]].margin(), memory[tasks[index]].margin());
  const json object = json::parse(to_json(answer));
  ASSERT_EQ(object["tasks"].size(), tasks.size());
  for (std::size_t index = 0; index < tasks.size(); ++index)
    EXPECT_EQ(object["tasks"][index]["task"], answer.scenario.job.workflow.tasks[tasks[index]].name);
}

}  // namespace
}  // namespace dovetail::answer
