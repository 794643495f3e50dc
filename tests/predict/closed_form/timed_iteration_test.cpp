// Predictions, fits and searches agree on the time of a plan.
#include <gtest/gtest.h>

#include "measure/calibrate.h"
#include "planner/space/trial.h"
#include "predict/closed_form/estimate.h"
#include "support/jobs.h"
#include "support/spaces.h"

namespace dovetail::predict {
namespace {

/// Random plans of one job.
struct Setting {
  const char* algorithm;
  const char* models;
  const char* cluster;
  bool prefetch = false;
};

constexpr Setting settings[] = {
    {"ppo", "actor: qwen3-1.7b, reward: qwen3-0.6b", "nodes: 2, gpus_per_node: 4, gpu: H100"},
    {"ppo", "actor: qwen3-1.7b, reward: qwen3-0.6b", "nodes: 1, gpus_per_node: 4, gpu: H100", true},
    {"ppo", "actor: qwen3-0.6b, reward: qwen3-1.7b", "nodes: 1, gpus_per_node: 8, gpu: H100"},
    {"grpo", "actor: qwen3-1.7b, reward: qwen3-0.6b", "nodes: 2, gpus_per_node: 4, gpu: H100"},
    {"{name: grpo, reward: rule}", "actor: qwen3-1.7b", "nodes: 2, gpus_per_node: 2, gpu: H100", true},
    {"dpo", "actor: qwen3-1.7b", "nodes: 2, gpus_per_node: 4, gpu: H100"},
    {"dpo", "actor: qwen3-1.7b", "nodes: 2, gpus_per_node: 2, gpu: H100", true},
};

/// Number of plans that had the compared features.
struct Seen {
  int plans = 0;
  int generations = 0;  ///< fused
  int trainings = 0;    ///< fused
  int reallocations = 0;
  int host_transfers = 0;
};

Seen operator+(const Seen& a, const Seen& b) {
  return {a.plans + b.plans, a.generations + b.generations, a.trainings + b.trainings,
          a.reallocations + b.reallocations, a.host_transfers + b.host_transfers};
}

void count(const plan::Plan& plan, const plan::IterationGraph& graph, Seen& seen) {
  ++seen.plans;
  seen.generations += plan.fusion.threshold ? 1 : 0;
  seen.trainings += plan.fusion.training ? 1 : 0;
  for (const plan::Activity& activity : graph.activities) {
    seen.reallocations += activity.kind == plan::Activity::Kind::reallocation ? 1 : 0;
    seen.host_transfers += plan::is_host_transfer(activity) ? 1 : 0;
  }
}

base::Ticks calibrated(const test::Place& place, const plan::Plan& plan) {
  const measure::Measurement row{.name = "row", .group = "row", .job = place.job, .plan = plan};
  return base::ticks_of_seconds(
      measure::calibration_row(row).predicted({place.scenario.software.efficiency, {0.8}}).front());
}

/// Checks that the search, the evaluator and the fit agree on a random plan.
void check(const test::Place& place, const planner::Selection& selection, planner::FusionSelection fusion,
           planner::Trial& trial, planner::FusionTables& tables, Seen& seen) {
  const planner::Score score = trial.exact_score(selection, fusion);
  const plan::Plan plan = planner::FusedActivities(tables).fused_plan(selection, score.fused);
  EXPECT_EQ(plan.fusion.threshold.has_value(), score.fused.generation);
  EXPECT_EQ(plan.fusion.training.has_value(), score.fused.training);
  const planner::FusionTables::Training* training =
      plan.fusion.training ? tables.training(*plan.fusion.training, selection) : nullptr;
  const KnownParts known{.training = training != nullptr ? &training->at_least : nullptr};
  const TimedIteration timed = timed_iteration(place.scenario, plan, {}, known);
  EXPECT_EQ(score.period, timed.timing.period);
  count(plan, timed.graph, seen);
  const Estimate estimate = predict::estimate(place.scenario, plan);
  EXPECT_EQ(calibrated(place, plan), base::ticks_of_seconds(estimate.iteration_seconds));
  if (!plan.fusion.training) {
    EXPECT_EQ(estimate.timing.period, score.period);
  }
}

Seen draw(const Setting& setting, int number, int plans) {
  plan::Job job = test::small_job(setting.algorithm, setting.models, setting.cluster);
  job.software.prefetch = setting.prefetch;
  const test::Place place(std::move(job));
  planner::Trial trial(place.space);
  planner::FusionTables tables(place.space);
  base::Random random(11, static_cast<std::uint64_t>(number));
  Seen seen;
  for (int round = 0; round < plans; ++round) {
    SCOPED_TRACE(testing::Message() << setting.algorithm << " on " << setting.cluster << ", plan " << round);
    const bool together = random.below(2) == 0;
    const planner::Selection selection =
        together ? test::random_co_located_selection(place.space, random) : test::random_selection(place.space, random);
    check(place, selection, {.generation = random.below(2) == 0, .training = random.below(2) == 0}, trial, tables,
          seen);
  }
  return seen;
}

TEST(TimedIteration, AgreesWithTheEvaluatorTheFitAndTheSearch) {
  Seen seen;
  for (int number = 0; number < static_cast<int>(std::size(settings)); ++number)
    seen = seen + draw(settings[number], number, 60);
  EXPECT_GE(seen.plans, 400);
  EXPECT_GE(seen.generations, 10);
  EXPECT_GE(seen.trainings, 3);
  EXPECT_GE(seen.reallocations, 100);
  EXPECT_GE(seen.host_transfers, 20);
}

std::size_t index_of(const plan::Job& job, std::string_view task) {
  return workflow::find_task(job.workflow, task)->index();
}

/// GRPO on one node, generation on separate devices.
struct Apart {
  plan::Job job = test::grpo_job();
  Scenario scenario = scenario_of(job, software_of(job).value());
  plan::Plan plan = test::separated(job);
};

TEST(TimedIteration, FollowsTheOrder) {
  plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100");
  const Scenario scenario = scenario_of(job, software_of(job).value());
  plan::Plan plan = test::pipelined_on_16(job);
  // The critic has separate devices, so its training overlaps with the actor's, unless the trainer's order makes it
  // wait.
  for (const char* task : {"critic_infer", "critic_train"}) {
    plan::TaskPlan& critic = plan.tasks[index_of(job, task)];
    critic.mesh = {8, 8};
    critic.layout.data = critic.layout.pipeline == 1 ? 8 : 4;
  }
  for (plan::TaskPlan& planned : plan.tasks) {
    if (planned.mesh.count == 8) continue;
    planned.mesh = {0, 8};
    planned.layout.data /= 2;
  }
  const std::size_t critic = index_of(job, "critic_train");
  const std::size_t actor = index_of(job, "actor_train");
  const TimedIteration ideal = timed_iteration(scenario, plan);
  const TimedIteration one_by_one =
      timed_iteration(scenario, plan, {.edges = {{actor, critic, 0}}, .barriers = {{actor, critic}}});
  EXPECT_GE(one_by_one.timing.activities[critic].begin, one_by_one.timing.activities[actor].end);
  EXPECT_GT(one_by_one.timing.period, ideal.timing.period);
  EXPECT_EQ(one_by_one.iteration_seconds,
            iteration_seconds(scenario, base::seconds_of_ticks(one_by_one.timing.period)));
}

TEST(TimedIteration, PhasesOneAfterTheOtherAddUp) {
  const Apart apart;
  std::vector<std::size_t> phases[3];
  for (std::size_t task = 0; task < apart.job.workflow.tasks.size(); ++task) {
    const workflow::TaskKind kind = apart.job.workflow.tasks[task].kind;
    phases[kind == workflow::TaskKind::generate ? 0 : kind == workflow::TaskKind::train ? 2 : 1].push_back(task);
  }
  const TimedIteration timed =
      timed_iteration(apart.scenario, apart.plan, {.edges = {}, .barriers = {phases[0], phases[1], phases[2]}});
  const auto begin_of = [&](const std::vector<std::size_t>& phase) {
    base::Ticks first = base::Ticks::max();
    for (const std::size_t task : phase) first = std::min(first, timed.timing.activities[task].begin);
    return first;
  };
  const auto end_of = [&](const std::vector<std::size_t>& phase) {
    base::Ticks last;
    for (const std::size_t task : phase) last = std::max(last, timed.timing.activities[task].end);
    return last;
  };
  EXPECT_GE(begin_of(phases[1]), end_of(phases[0]));
  EXPECT_GE(begin_of(phases[2]), end_of(phases[1]));
  EXPECT_EQ(timed.timing.period, end_of(phases[2])) << "nothing of two iterations overlaps";
}

TEST(TimedIteration, KnownPartsDoNotChangeTheResult) {
  plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100");
  job.software.prefetch = true;
  const Scenario scenario = scenario_of(job, software_of(job).value());
  plan::Plan plan = test::pipelined_on_16(job);
  plan.fusion.training = plan::train_pair(job);
  const TimedIteration timed = timed_iteration(scenario, plan);
  ASSERT_TRUE(timed.intra_stage.has_value());
  const std::vector<TaskMemory> memory = task_memory(scenario, plan, timed.intra_stage->activations);
  const TimedIteration again = timed_iteration(scenario, plan, {}, {&*timed.intra_stage, &memory});
  EXPECT_EQ(again.timing.period, timed.timing.period);
  EXPECT_EQ(again.graph.activities.size(), timed.graph.activities.size());
  EXPECT_EQ(again.intra_stage->schedule, timed.intra_stage->schedule) << "the schedule is shared";
}

}  // namespace
}  // namespace dovetail::predict
