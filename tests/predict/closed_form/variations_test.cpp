#include "predict/closed_form/variations.h"

#include <gtest/gtest.h>

#include <set>

#include "planner/advice/changes.h"
#include "support/jobs.h"

namespace dovetail::predict {
namespace {

TEST(Variations, DifferInOneSettingAndAreValid) {
  const plan::Job job = test::grpo_job();
  const Scenario scenario = scenario_of(job, software_of(job).value());
  const plan::Plan plan = test::co_located(job, ", \"offload\": [\"optimizer\"]");
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    if (job.workflow.tasks[task].kind == workflow::TaskKind::rule) continue;
    std::set<planner::ChangeKind> kinds;
    for (const plan::TaskPlan& varied : variations_of(scenario, task, plan.tasks[task])) {
      EXPECT_NE(varied, plan.tasks[task]);
      const planner::ChangeKind kind = planner::kind_of(plan.tasks[task], varied);
      EXPECT_TRUE(kind != planner::ChangeKind::mesh && kind != planner::ChangeKind::layout &&
                  kind != planner::ChangeKind::settings)
          << name_of(kind);
      kinds.insert(kind);
      plan::Plan changed = plan;
      changed.tasks[task] = varied;
      EXPECT_FALSE(plan::find_fault(changed, job).has_value());
    }
    const bool trains = job.workflow.tasks[task].kind == workflow::TaskKind::train;
    EXPECT_EQ(kinds.size(), trains ? 4U : 2U) << job.workflow.tasks[task].name;
  }
}

TEST(Variations, KeepFixedSettings) {
  plan::Job job = test::grpo_job();
  const plan::Plan plan = test::co_located(job);
  job.fixed.resize(plan.tasks.size());
  const std::size_t train = plan.tasks.size() - 1;
  ASSERT_EQ(job.workflow.tasks[train].kind, workflow::TaskKind::train);
  job.fixed[train].micro_batching = plan.tasks[train].micro_batching;
  job.fixed[train].layout.set(&llm::Layout::zero, plan.tasks[train].layout.zero);
  const Scenario scenario = scenario_of(job, software_of(job).value());
  for (const plan::TaskPlan& varied : variations_of(scenario, train, plan.tasks[train])) {
    EXPECT_EQ(varied.micro_batching, plan.tasks[train].micro_batching);
    EXPECT_EQ(varied.layout.zero, plan.tasks[train].layout.zero);
  }
}

}  // namespace
}  // namespace dovetail::predict
