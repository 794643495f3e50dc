#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "predict/closed_form/inter_stage.h"
#include "report/iteration/job_page.h"
#include "support/jobs.h"

namespace dovetail::report {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string against(const predict::Scenario& scenario, const plan::Plan& plan, const plan::Plan& other) {
  const predict::Estimate here = predict::estimate(scenario, plan);
  const predict::Estimate there = predict::estimate(scenario, other);
  return reasons_against(scenario, {plan, here}, {other, there});
}

class Reasons : public testing::Test {
 protected:
  plan::TaskPlan& task(std::string_view name) { return plan_.tasks[workflow::find_task(job_.workflow, name)->index()]; }

  const plan::Job job_ = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100, host_memory: 1TB");
  const predict::Scenario scenario_ = predict::scenario_of(job_, predict::software_of(job_).value());
  plan::Plan plan_ = test::pipelined_on_16(job_);
};

TEST_F(Reasons, AreEmptyForAPlanAgainstItself) {
  EXPECT_EQ(against(scenario_, plan_, plan_), "no significant difference");
}

TEST_F(Reasons, NameTasksThatDoNotOverlap) {
  plan::Plan apart = plan_;
  for (const auto& [name, first] : {std::pair("reward_infer", 0), std::pair("critic_infer", 8)}) {
    task(name).mesh = {first, 8};
    task(name).layout.data = 8;
  }
  std::swap(apart, plan_);
  // One of the plans is faster. Its overlap explains why the other loses.
  const bool side_by_side_wins =
      predict::estimate(scenario_, apart).iteration_seconds < predict::estimate(scenario_, plan_).iteration_seconds;
  EXPECT_TRUE(side_by_side_wins) << "half of the hand-overs";
  EXPECT_THAT(against(scenario_, plan_, apart), ContainsRegex("overlap by [0-9.]+ m?s less"));
  EXPECT_THAT(against(scenario_, apart, plan_), ContainsRegex("overlap by [0-9.]+ m?s more"));
}

TEST_F(Reasons, CombineFusedTasks) {
  plan::Plan fused = plan_;
  fused.fusion.threshold = predict::best_threshold(scenario_, plan_.tasks);
  ASSERT_TRUE(fused.fusion.threshold.has_value());
  const std::string text = against(scenario_, plan_, fused);
  EXPECT_THAT(text, HasSubstr("actor_generate + reward_infer + reference_infer + critic_infer +"));
  EXPECT_THAT(text, HasSubstr("(not fused)"));
  EXPECT_THAT(text, Not(HasSubstr("overlap"))) << "fused tasks take turns";
  EXPECT_THAT(against(scenario_, fused, plan_), HasSubstr("(fused)"));
}

}  // namespace
}  // namespace dovetail::report
