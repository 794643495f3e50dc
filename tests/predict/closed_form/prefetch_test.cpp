#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>

#include "plan/jobs.h"
#include "planner/bound/bound.h"
#include "predict/closed_form/estimate.h"
#include "support/jobs.h"
#include "support/spaces.h"
#include "workflow/workflow.h"

namespace dovetail::predict {
namespace {

using plan::Activity;

plan::Job prefetching(plan::Job job) {
  job.software.prefetch = true;
  return job;
}

plan::Job with_slower_links(plan::Job job, double slower) {
  for (cluster::NodeGroup& group : job.cluster.groups) group.gpu.host_bandwidth /= slower;
  return job;
}

/// A job with and without prefetching software, with host links that are `slower` times slower.
struct Both {
  explicit Both(const plan::Job& of, double slower = 1)
      : job(with_slower_links(of, slower)), fetching(prefetching(job)) {}
  Both(const Both&) = delete;

  Estimate without(const plan::Plan& plan) const { return estimate(scenario_of(job, software_of(job).value()), plan); }
  Estimate with(const plan::Plan& plan) const {
    return estimate(scenario_of(fetching, software_of(job).value()), plan);
  }
  std::size_t task(std::string_view name) const { return workflow::find_task(job.workflow, name)->index(); }

  plan::Job job;
  plan::Job fetching;
};

const std::string swaps = R"(, "offload": ["optimizer", "gradients"])";
const std::string leaves = R"(, "offload": ["weights"])";

std::size_t activity_of(const Estimate& estimate, Activity::Kind kind, std::size_t task) {
  for (std::size_t activity = 0; activity < estimate.graph.activities.size(); ++activity)
    if (estimate.graph.activities[activity].kind == kind && estimate.graph.activities[activity].task == task)
      return activity;
  return estimate.graph.activities.size();
}

bool has(const Estimate& estimate, Activity::Kind kind, std::size_t task) {
  return activity_of(estimate, kind, task) < estimate.graph.activities.size();
}

double transfers_of(const ActivitySeconds& activity) {
  double seconds = 0;
  for (const SecondsPart& part : activity.parts)
    if (part.of == SecondsOf::host_transfers) seconds += part.seconds;
  return seconds;
}

TEST(Prefetch, HidesTransfersThatFitWithOtherTasks) {
  const Both job(test::grpo_job());
  const plan::Plan plan = test::co_located(job.job, swaps, leaves);
  const Estimate before = job.without(plan);
  const Estimate after = job.with(plan);
  const std::size_t reference = job.task("reference_infer");
  const std::size_t train = job.task("actor_train");
  EXPECT_TRUE(has(after, Activity::Kind::load, reference));
  EXPECT_FALSE(has(after, Activity::Kind::unload, reference)) << "its weights do not change";
  EXPECT_TRUE(has(after, Activity::Kind::load, train));
  EXPECT_TRUE(has(after, Activity::Kind::unload, train));
  const double hidden = transfers_of(before.activities[reference]) + transfers_of(before.activities[train]);
  EXPECT_GT(hidden, 0);
  EXPECT_NEAR(base::seconds_of_ticks(before.timing.period - after.timing.period), hidden, 1e-8);
  EXPECT_EQ(transfers_of(after.activities[reference]), 0);
  EXPECT_EQ(transfers_of(after.activities[train]), 0);
  // No time is lost: seconds removed from the tasks appear in the separate activities.
  EXPECT_NEAR(transfers_of(after.activities[activity_of(after, Activity::Kind::load, train)]),
              0.5 * transfers_of(before.activities[train]), 1e-12);
  EXPECT_LT(after.timing.activities[activity_of(after, Activity::Kind::load, reference)].begin, base::Ticks(0))
      << "during the previous iteration";
}

TEST(Prefetch, HidesPartOfALongTransfer) {
  const Both job(test::grpo_job(), 1000);
  const plan::Plan plan = test::co_located(job.job, "", leaves);
  const Estimate before = job.without(plan);
  const Estimate after = job.with(plan);
  const std::size_t reference = job.task("reference_infer");
  const double load = transfers_of(before.activities[reference]);
  const double pass = before.activities[reference].seconds - load;
  const double others = base::seconds_of_ticks(before.timing.period) - before.activities[reference].seconds;
  ASSERT_GT(load, others);
  // The next load begins when the pass ends, and the next pass when the load ends.
  EXPECT_NEAR(base::seconds_of_ticks(after.timing.period), load + pass, 1e-8);
}

TEST(Prefetch, WithoutMemoryNothingChanges) {
  Both job(test::grpo_job());
  const plan::Plan plan = test::co_located(job.job, swaps, leaves);
  const Estimate before = job.without(plan);
  std::int64_t least = before.memory.front().usable;
  for (const TaskMemory& memory : before.memory)
    if (memory.usable > 0) least = std::min(least, memory.needed());
  // No task leaves any memory.
  for (plan::Job* of : {&job.job, &job.fetching}) of->cluster.groups[0].gpu.usable_memory = least;
  const Estimate after = job.with(plan);
  EXPECT_EQ(after.timing.period, before.timing.period);
}

TEST(Prefetch, TheOptimizerLoadsDuringGenerationIfItFitsOrAfterIt) {
  for (const bool roomy : {true, false}) {
    Both job(test::grpo_job());
    plan::Plan plan = test::co_located(job.job, swaps);
    const std::size_t generate = job.task("actor_generate");
    const std::size_t train = job.task("actor_train");
    plan.tasks[generate].engine.memory_utilization = roomy ? 0.5 : 0.95;
    const Estimate after = job.with(plan);
    const Scenario scenario = scenario_of(job.fetching, software_of(job.job).value());
    const std::int64_t bytes = loaded_bytes(scenario, train, plan.tasks[train]);
    ASSERT_GT(bytes, 0);
    EXPECT_EQ(bytes <= after.memory[generate].margin(), roomy);
    EXPECT_EQ(transfer_conflicts(scenario, plan, after.graph, after.memory)[train][generate], !roomy);
    EXPECT_TRUE(has(after, Activity::Kind::load, train));
    const plan::ActivityTime load = after.timing.activities[activity_of(after, Activity::Kind::load, train)];
    const plan::ActivityTime generation = after.timing.activities[generate];
    EXPECT_EQ(load.begin >= generation.end, !roomy);
    EXPECT_LE(load.end, after.timing.activities[train].begin);
    EXPECT_LT(after.timing.period, job.without(plan).timing.period);
  }
}

TEST(Prefetch, MemoryIsUsedOnce) {
  // During generation there is memory for the data of one of the passes, but not of both.
  Both job(test::grpo_job());
  plan::Plan plan = test::co_located(job.job, "", leaves);
  const std::size_t actor = job.task("actor_infer");
  const std::size_t reference = job.task("reference_infer");
  plan.tasks[actor].layout.tensor = 2;
  plan.tasks[actor].layout.data = 4;
  plan.tasks[actor].offload.weights = true;
  const Scenario scenario = scenario_of(job.fetching, software_of(job.job).value());
  const std::int64_t of_actor = loaded_bytes(scenario, actor, plan.tasks[actor]);
  const std::int64_t of_reference = loaded_bytes(scenario, reference, plan.tasks[reference]);
  ASSERT_GT(of_reference, of_actor);
  std::vector<TaskMemory> memory = task_memory(scenario, plan);
  TaskMemory& generation = memory[job.task("actor_generate")];
  const auto conflicts_with_headroom = [&](std::int64_t headroom) {
    generation.usable = generation.needed() + headroom;
    const plan::Conflicts conflicts = transfer_conflicts(scenario, plan, plan::iteration_graph(job.job, plan), memory);
    return std::pair(conflicts[actor][job.task("actor_generate")] ? 1 : 0,
                     conflicts[reference][job.task("actor_generate")] ? 1 : 0);
  };
  EXPECT_EQ(conflicts_with_headroom(of_actor + of_reference), std::pair(0, 0));
  EXPECT_EQ(conflicts_with_headroom(of_actor + of_reference - 1), std::pair(0, 1)) << "the actor's pass comes first";
  EXPECT_EQ(conflicts_with_headroom(of_actor - 1), std::pair(1, 1));
}

TEST(Prefetch, FusedTasksKeepTheirTransfers) {
  const Both job(test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100"));
  plan::Plan plan = test::pipelined_on_16(job.job);
  for (plan::TaskPlan& planned : plan.tasks) planned.offload.optimizer = true;
  plan.fusion.training = plan::train_pair(job.job);
  plan.fusion.threshold = 0.2;
  const Estimate before = job.without(plan);
  const Estimate after = job.with(plan);
  EXPECT_EQ(after.graph.activities.size(), before.graph.activities.size());
  EXPECT_EQ(after.timing.period, before.timing.period);
}

/// A plan of `space` that offloads much to host memory.
plan::Plan random_plan(const planner::SearchSpace& space) {
  base::Random random(*rc::gen::arbitrary<std::uint64_t>(), 0);
  const planner::Selection selection = *rc::gen::arbitrary<bool>() ? test::random_selection(space, random)
                                                                   : test::random_co_located_selection(space, random);
  plan::Plan plan = planner::plan_of(space, selection, "custom");
  for (plan::TaskPlan& planned : plan.tasks) {
    planned.offload.weights = *rc::gen::arbitrary<bool>();
    planned.offload.optimizer = *rc::gen::arbitrary<bool>();
  }
  return plan;
}

RC_GTEST_PROP(Prefetch, NeverMakesAnIterationLongerNorBeatsTheBound, ()) {
  static const test::Place place(prefetching(
      test::small_job("ppo", "actor: qwen3-4b, reward: qwen3-1.7b", "nodes: 2, gpus_per_node: 8, gpu: H100")));
  static const double bound = planner::period_bound(place.space);
  Both job(place.job, *rc::gen::element(1.0, 10.0, 100.0));
  job.job.software.prefetch = false;
  const plan::Plan plan = random_plan(place.space);
  // All memory, or little more than the largest task needs.
  if (*rc::gen::arbitrary<bool>()) {
    const std::int64_t headroom = *rc::gen::inRange<std::int64_t>(0, std::int64_t{8} << 30);
    std::int64_t most = 0;
    for (const TaskMemory& memory : job.without(plan).memory) most = std::max(most, memory.needed());
    for (plan::Job* of : {&job.job, &job.fetching}) of->cluster.groups[0].gpu.usable_memory = most + headroom;
  }
  const Estimate before = job.without(plan);
  const Estimate after = job.with(plan);
  RC_ASSERT(after.timing.period <= before.timing.period);
  RC_CLASSIFY(after.timing.period < before.timing.period, "shorter");
  RC_CLASSIFY(after.fits(), "fits");
  RC_ASSERT(base::seconds_of_ticks(after.timing.period) >= bound - 1e-6);
  double all_before = 0;
  double all_after = 0;
  for (const ActivitySeconds& activity : before.activities) all_before += activity.seconds;
  for (const ActivitySeconds& activity : after.activities) all_after += activity.seconds;
  RC_ASSERT(std::abs(all_after - all_before) < 1e-6);
}

}  // namespace
}  // namespace dovetail::predict
