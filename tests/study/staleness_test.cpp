#include "study/staleness.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "predict/closed_form/estimate.h"
#include "support/scenes.h"

namespace dovetail::study {
namespace {

TEST(Staleness, ReportsMeanAndMaximumAge) {
  EXPECT_EQ(staleness_of({}), Staleness());
  EXPECT_EQ(staleness_of({0, 0}), Staleness());
  EXPECT_EQ(staleness_of({4}), Staleness());
  EXPECT_EQ(staleness_of({1, 2, 1}), (Staleness{1.0, 2, 0.75}));
  EXPECT_EQ(staleness_of({3, 0, 1, 0}), (Staleness{0.5, 2, 0.25}));
}

TEST(Staleness, NeedsAPolicyTask) {
  const plan::Job job = test::grpo_job();
  EXPECT_EQ(policy_task(job.workflow), workflow::find_task(job.workflow, "actor_generate")->index());
  const plan::Job dpo = plan::parse_job(
                            "format: dovetail/job@1\nname: small\nalgorithm: dpo\nmodels: {actor: qwen3-0.6b}\n"
                            "workload: {prompts: 64, prompt_length: 128, response_length: 512}\n"
                            "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}\n",
                            "small.yaml")
                            .value();
  EXPECT_EQ(policy_task(dpo.workflow), std::nullopt);
}

TEST(Staleness, CountsUnfinishedTrainings) {
  const plan::Job job = test::grpo_job(3);
  const plan::Plan plan = test::separated(job);
  const plan::IterationGraph graph = plan::iteration_graph(job, plan);
  const std::size_t generate = *policy_task(job.workflow);
  const std::size_t train = workflow::find_task(job.workflow, "actor_train")->index();
  plan::Timing timing{base::Ticks(100), std::vector<plan::ActivityTime>(graph.activities.size())};
  for (std::size_t step = 0; step < graph.activities.size(); ++step)
    if (graph.activities[step].kind == plan::Activity::Kind::reallocation)
      timing.activities[step] = {base::Ticks(0), base::Ticks(5)};
  timing.activities[generate] = {base::Ticks(5), base::Ticks(80)};
  // The training of the previous iteration ends 100 earlier, the one before it 200.
  for (const auto& [ended, after] :
       {std::pair(100, 0), std::pair(101, 1), std::pair(200, 1), std::pair(201, 2), std::pair(999, 3)}) {
    timing.activities[train] = {base::Ticks(90), base::Ticks(ended)};
    EXPECT_EQ(version_lag(job, graph, timing, generate), after) << ended;
  }
}

RC_GTEST_PROP(Staleness, IsNeverMoreThanTheJobAllows, ()) {
  const int steps = *rc::gen::inRange(0, 5);
  const plan::Job job = test::grpo_job(steps);
  const test::Scene scene(job, *rc::gen::arbitrary<bool>() ? test::separated(job) : test::co_located(job));
  const predict::Estimate closed = predict::estimate(scene.scenario, scene.plan);
  const int after = version_lag(scene.job, closed.graph, closed.timing, *policy_task(job.workflow));
  RC_ASSERT(after >= 0);
  RC_ASSERT(after <= steps);
}

}  // namespace
}  // namespace dovetail::study
