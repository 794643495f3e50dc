#include "predict/simulated/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "predict/simulated/task_traces.h"
#include "simulate/trace.h"
#include "support/jobs.h"
#include "workflow/workflow.h"

namespace dovetail::predict {
namespace {

using base::Ticks;
using simulate::BarKind;
using simulate::Lane;
using simulate::Span;
using testing::ElementsAre;

Span span(std::int64_t begin, std::int64_t end, BarKind bar_kind, std::int64_t launch = 0) {
  return {Ticks(begin), Ticks(end), bar_kind, 3, 0, Ticks(launch)};
}

std::vector<int> devices(int count) {
  std::vector<int> of(static_cast<std::size_t>(count));
  std::iota(of.begin(), of.end(), 0);
  return of;
}

/// "forward 0-5", "imbalance 5-10", ...
std::vector<std::string> spans_text(const Lane& lane) {
  std::vector<std::string> spans_text;
  for (const Span& of : lane.spans)
    spans_text.push_back(std::string(simulate::name_of(of.bar_kind)) + " " + std::to_string(of.begin.count()) + "-" +
                         std::to_string(of.end.count()));
  return spans_text;
}

TEST(WithRanks, RanksOfOneStageWaitAfterTheirPasses) {
  const Lane slowest{devices(4),
                     {span(0, 10, BarKind::forward), span(10, 30, BarKind::backward, 4),
                      span(30, 33, BarKind::optimizer), span(33, 43, BarKind::forward)},
                     {{Ticks(0), 5}}};
  const simulate::Trace trace = with_ranks({Ticks(43), {slowest}}, {{3, {1, 0.5}}});
  ASSERT_EQ(trace.lanes.size(), 2U);
  EXPECT_EQ(simulate::find_fault(trace), std::nullopt);
  EXPECT_THAT(trace.lanes[0].devices, ElementsAre(0, 1));
  EXPECT_THAT(spans_text(trace.lanes[0]),
              ElementsAre("forward 0-10", "backward 10-30", "optimizer 30-33", "forward 33-43"));
  EXPECT_THAT(trace.lanes[1].devices, ElementsAre(2, 3));
  EXPECT_THAT(spans_text(trace.lanes[1]), ElementsAre("forward 0-5", "backward 5-17", "imbalance 17-30",
                                                      "optimizer 30-33", "forward 33-38", "imbalance 38-43"))
      << "launch times are not scaled";
  EXPECT_EQ(trace.lanes[1].memory, slowest.memory);
}

TEST(WithRanks, RanksOfAPipelineBeginWithTheSlowest) {
  const Lane first{
      {0, 1}, {span(0, 10, BarKind::infer), span(10, 20, BarKind::infer), span(20, 32, BarKind::bubble)}, {}};
  const Lane second{
      {2, 3}, {span(0, 12, BarKind::bubble), span(12, 22, BarKind::infer), span(22, 32, BarKind::infer)}, {}};
  const simulate::Trace trace = with_ranks({Ticks(32), {first, second}}, {{3, {1, 0.8}}});
  ASSERT_EQ(trace.lanes.size(), 4U);
  EXPECT_EQ(simulate::find_fault(trace), std::nullopt);
  EXPECT_THAT(spans_text(trace.lanes[1]),
              ElementsAre("inference 0-8", "imbalance 8-10", "inference 10-18", "imbalance 18-20", "bubble 20-32"));
  EXPECT_THAT(spans_text(trace.lanes[3]),
              ElementsAre("bubble 0-12", "inference 12-20", "imbalance 20-22", "inference 22-30", "imbalance 30-32"));
}

TEST(WithRanks, ManyRanksFormEightGroups) {
  std::vector<double> parts(100, 0.25);
  parts[0] = 1;
  const Lane slowest{devices(200), {span(0, 100, BarKind::infer)}, {}};
  const simulate::Trace trace = with_ranks({Ticks(100), {slowest}}, {{3, parts}});
  ASSERT_EQ(trace.lanes.size(), 8U);
  std::size_t all = 0;
  for (const Lane& lane : trace.lanes) all += lane.devices.size();
  EXPECT_EQ(all, 200U);
  EXPECT_EQ(trace.lanes[0].devices.size(), 2U);
  EXPECT_THAT(spans_text(trace.lanes[7]), ElementsAre("inference 0-25", "imbalance 25-100"));
}

TEST(WithRanks, RanksWithoutWorkStillLaunch) {
  const Lane slowest{devices(2), {span(0, 10, BarKind::forward, 4), span(10, 12, BarKind::forward, 2)}, {}};
  const simulate::Trace trace = with_ranks({Ticks(12), {slowest}}, {{3, {1, 0}}});
  EXPECT_EQ(simulate::find_fault(trace), std::nullopt);
  EXPECT_THAT(spans_text(trace.lanes[1]), ElementsAre("forward 0-4", "forward 4-6", "imbalance 6-12"));
}

TEST(WithRanks, EqualRanksShareOneLane) {
  const Lane slowest{devices(4), {span(0, 10, BarKind::infer)}, {}};
  EXPECT_EQ(with_ranks({Ticks(10), {slowest}}, {{3, {1, 1, 1, 1}}}).lanes.size(), 1U);
}

/// Time of a task's passes and of idling for imbalance, over all devices of a trace.
struct Sums {
  Ticks passes;
  Ticks imbalance;
};

Sums sums_of(const simulate::Trace& trace) {
  Sums sums;
  for (const simulate::Use& use : simulate::uses_of(trace)) {
    const bool is_pass =
        use.bar_kind == BarKind::infer || use.bar_kind == BarKind::forward || use.bar_kind == BarKind::backward;
    if (is_pass) sums.passes += use.time;
    if (use.bar_kind == BarKind::imbalance) sums.imbalance += use.time;
  }
  return sums;
}

TEST(WithRanks, SoftwareThatDoesNotBalanceLetsRanksWait) {
  plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100");
  const plan::Plan plan = test::pipelined_on_16(job);
  const Scenario balanced = scenario_of(job, software_of(job).value());
  Scenario unbalanced = balanced;
  unbalanced.software.conventions.balances_ranks = false;
  const std::size_t infer = workflow::find_task(job.workflow, "critic_infer")->index();
  const std::size_t train = workflow::find_task(job.workflow, "critic_train")->index();
  for (const std::size_t task : {infer, train}) {
    const auto trace_on = [&](const Scenario& scenario) {
      return task == infer ? inference_trace(scenario, task, plan.tasks[task])
                           : training_trace(scenario, {task, plan.tasks[task]}).value();
    };
    const simulate::Trace trace = trace_on(unbalanced);
    EXPECT_EQ(simulate::find_fault(trace), std::nullopt);
    const Sums sums = sums_of(trace);
    EXPECT_GT(sums.imbalance, Ticks(0));
    // Ranks together take the same time as with equal shares, except that attention takes longer on long sequences.
    const Sums equal = sums_of(trace_on(balanced));
    EXPECT_NEAR(static_cast<double>(sums.passes.count()) / static_cast<double>(equal.passes.count()), 1, 0.12) << task;
  }
}

TEST(WithRanks, FewerSamplesThanRanksAreSimulated) {
  plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100");
  job.workload.prompts = 2;
  job.workload.mini_batches = 1;
  const plan::Plan plan = test::pipelined_on_16(job);
  Scenario scenario = scenario_of(job, software_of(job).value());
  for (const bool balances : {false, true}) {
    scenario.software.conventions.balances_ranks = balances;
    for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task) {
      if (job.workflow.tasks[task].kind == workflow::TaskKind::generate) continue;
      const simulate::Trace trace = job.workflow.tasks[task].kind == workflow::TaskKind::train
                                        ? training_trace(scenario, {task, plan.tasks[task]}).value()
                                        : inference_trace(scenario, task, plan.tasks[task]);
      EXPECT_EQ(simulate::find_fault(trace), std::nullopt) << task;
    }
  }
}

}  // namespace
}  // namespace dovetail::predict
