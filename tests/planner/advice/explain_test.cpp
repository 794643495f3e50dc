#include "planner/advice/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "plan/fusion.h"
#include "predict/closed_form/variations.h"
#include "support/jobs.h"

namespace dovetail::planner {
namespace {

const RankOptions quick = test::quick_options();

/// The small job on GPUs with this much memory.
plan::Job scarce_job(double gibibytes) {
  plan::Job job = test::grpo_job();
  job.cluster.groups.front().gpu.usable_memory = static_cast<std::int64_t>(gibibytes * (1 << 30));
  return job;
}

std::size_t task_named(const plan::Job& job, const std::string& name) {
  std::size_t task = 0;
  while (job.workflow.tasks[task].name != name) ++task;
  return task;
}

void expect_evaluated(const predict::Scenario& scenario, const plan::Plan& plan, const Change& change) {
  const predict::Estimate estimate = predict::estimate(scenario, change.plan);
  EXPECT_FALSE(plan::find_fault(change.plan, scenario.job).has_value());
  EXPECT_TRUE(estimate.fits());
  EXPECT_EQ(change.missing, 0);
  EXPECT_DOUBLE_EQ(change.iteration_seconds, estimate.iteration_seconds);
  EXPECT_EQ(change.margin, estimate.memory[change.min_margin_task].margin());
  for (const predict::TaskMemory& memory : estimate.memory)
    EXPECT_TRUE(memory.usable == 0 || change.margin <= memory.margin());
  if (change.kind == ChangeKind::fusion || change.kind == ChangeKind::threshold) {
    EXPECT_EQ(change.plan.tasks, plan.tasks);
    EXPECT_NE(change.plan.fusion, plan.fusion);
    return;
  }
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    const bool changes = std::find(change.tasks.begin(), change.tasks.end(), task) != change.tasks.end();
    EXPECT_EQ(changes, change.plan.tasks[task] != plan.tasks[task]);
  }
}

TEST(PlanSpace, ContainsThePlanWithItsCost) {
  for (const int steps : {0, 1}) {
    const plan::Job job = test::grpo_job(steps);
    const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
    for (const plan::Plan& plan : {test::co_located(job), test::separated(job)}) {
      const PlanSpace around = space_around(scenario, plan, {}, 1);
      EXPECT_EQ(plan_of(around.space, around.selection, "").tasks, plan.tasks);
      Trial trial(around.space);
      const Score score = trial.score(around.selection);
      const predict::Estimate estimate = predict::estimate(scenario, plan);
      EXPECT_EQ(score.excess > 0, !estimate.fits());
      EXPECT_NEAR(static_cast<double>(score.period.count()) / static_cast<double>(estimate.timing.period.count()), 1,
                  0.02);
    }
  }
}

TEST(Explain, GainsOfChangesAgreeWithTheEvaluator) {
  const plan::Job job = test::grpo_job();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const plan::Plan plan = test::co_located(job);
  const Explanation explanation = explain(scenario, plan, quick).value();
  ASSERT_TRUE(explanation.fits());
  ASSERT_GE(explanation.changes.size(), 3U);
  double last = 0;
  for (const Change& change : explanation.changes) {
    expect_evaluated(scenario, plan, change);
    EXPECT_LT(change.iteration_seconds, explanation.estimate.iteration_seconds);
    EXPECT_GE(change.iteration_seconds, last);
    last = change.iteration_seconds;
  }
  ASSERT_TRUE(explanation.best.has_value());
  EXPECT_LE(explanation.best->estimate.iteration_seconds, explanation.changes.front().iteration_seconds);
}

TEST(Explain, FindsTheBestOfEachSetting) {
  const plan::Job job = test::grpo_job();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const plan::Plan plan = test::co_located(job);
  const std::vector<Change> changes = changes_of(scenario, plan, space_around(scenario, plan, {}, 1));
  const std::size_t train = task_named(job, "actor_train");
  for (const ChangeKind kind : {ChangeKind::micro_batch, ChangeKind::zero, ChangeKind::offload}) {
    double least = 1e9;
    for (const plan::TaskPlan& varied : predict::variations_of(scenario, train, plan.tasks[train])) {
      if (kind_of(plan.tasks[train], varied) != kind) continue;
      plan::Plan changed = plan;
      changed.tasks[train] = varied;
      const predict::Estimate estimate = predict::estimate(scenario, changed);
      if (estimate.fits()) least = std::min(least, estimate.iteration_seconds);
    }
    const auto found = std::find_if(changes.begin(), changes.end(), [&](const Change& change) {
      return change.kind == kind && change.tasks == std::vector<std::size_t>{train};
    });
    ASSERT_NE(found, changes.end()) << name_of(kind);
    EXPECT_LE(found->iteration_seconds, least) << name_of(kind);
  }
}

/// PPO with a long generation tail, co-located in pipelines that can be fused.
struct FusibleJob {
  plan::Job job =
      plan::parse_job(
          "format: dovetail/job@1\nname: small\nalgorithm: ppo\nmodels: {actor: qwen3-4b, reward: qwen3-1.7b}\n"
          "workload: {prompts: 512, mini_batches: 2, prompt_length: 128, response_length: {p50: 300, sigma: 1, cap: "
          "8192}}\n"
          "cluster: {nodes: 2, gpus_per_node: 8, gpu: H100, host_memory: 1TB}\n",
          "small.yaml")
          .value();
  predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  plan::Plan plan = test::pipelined_on_16(job);
};

/// Returns the changes of fusions.
std::vector<Change> fusion_changes(const predict::Scenario& scenario, const plan::Plan& plan) {
  std::vector<Change> changes = changes_of(scenario, plan, space_around(scenario, plan, {}, 1));
  std::erase_if(changes, [](const Change& change) {
    return change.kind != ChangeKind::fusion && change.kind != ChangeKind::threshold;
  });
  for (const Change& change : changes) expect_evaluated(scenario, plan, change);
  return changes;
}

TEST(Explain, FusingIsAChange) {
  FusibleJob of;
  const double apart = estimate(of.scenario, of.plan).iteration_seconds;
  const std::vector<Change> changes = fusion_changes(of.scenario, of.plan);
  ASSERT_EQ(changes.size(), 2U);
  for (const Change& change : changes) {
    EXPECT_EQ(change.kind, ChangeKind::fusion);
    EXPECT_NE(change.plan.fusion.threshold.has_value(), change.plan.fusion.training.has_value());
    if (change.plan.fusion.threshold) {
      EXPECT_LT(change.iteration_seconds, apart);
    }
  }
  // As fixed by the job.
  of.scenario.job.fixed_fusion.inter_stage = false;
  EXPECT_EQ(fusion_changes(of.scenario, of.plan).size(), 1U);
}

TEST(Explain, UnfusingAndOtherThresholdsAreChanges) {
  const FusibleJob of;
  plan::Plan plan = of.plan;
  plan.fusion = {.threshold = 0.95, .training = plan::train_pair(of.job)};
  int threshold = 0, generation = 0, training = 0;
  for (const Change& change : fusion_changes(of.scenario, plan)) {
    if (change.kind == ChangeKind::threshold) {
      ++threshold;
      EXPECT_EQ(change.plan.fusion.threshold, predict::best_threshold(of.scenario, plan.tasks));
      EXPECT_LT(change.iteration_seconds, estimate(of.scenario, plan).iteration_seconds);
    } else {
      generation += change.plan.fusion.threshold ? 0 : 1;
      training += change.plan.fusion.training ? 0 : 1;
    }
  }
  EXPECT_EQ(threshold, 1);
  EXPECT_EQ(generation, 1);
  EXPECT_EQ(training, 1);
}

TEST(Explain, IndependentPassesRunSideBySide) {
  const plan::Job job = test::grpo_job();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const plan::Plan plan = test::co_located(job);
  const std::vector<Change> changes = changes_of(scenario, plan, space_around(scenario, plan, {}, 1));
  const auto pair = std::find_if(changes.begin(), changes.end(),
                                 [](const Change& change) { return change.kind == ChangeKind::side_by_side; });
  ASSERT_NE(pair, changes.end());
  EXPECT_EQ(pair->tasks,
            (std::vector<std::size_t>{task_named(job, "actor_infer"), task_named(job, "reference_infer")}));
  EXPECT_FALSE(cluster::overlap(pair->plan.tasks[pair->tasks[0]].mesh, pair->plan.tasks[pair->tasks[1]].mesh));
  const predict::Estimate estimate = predict::estimate(scenario, pair->plan);
  const plan::ActivityTime a = estimate.timing.activities[pair->tasks[0]],
                           b = estimate.timing.activities[pair->tasks[1]];
  EXPECT_LT(std::max(a.begin, b.begin), std::min(a.end, b.end));
}

TEST(Explain, UsesOfTimeAddUpToTheIteration) {
  const plan::Job job = test::grpo_job(1);
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const plan::Plan plan = test::separated(job);
  const Explanation explanation = explain(scenario, plan, quick).value();
  ASSERT_TRUE(explanation.comparison.has_value());
  double here = 0, there = 0, idle = 0;
  for (const TimeUse& use : explanation.comparison->uses) {
    EXPECT_GE(use.seconds.here, -1e-6) << base::enum_name(use.of);
    EXPECT_GE(use.seconds.there, -1e-6) << base::enum_name(use.of);
    here += use.seconds.here;
    there += use.seconds.there;
    if (use.of == predict::SecondsOf::idle) idle = use.seconds.here;
  }
  EXPECT_NEAR(here, explanation.estimate.iteration_seconds, 1e-6);
  EXPECT_NEAR(there, explanation.best->estimate.iteration_seconds, 1e-6);
  double device_seconds = 0;
  for (const IdleDevices& devices : explanation.comparison->idle)
    device_seconds += devices.seconds * devices.devices.count;
  EXPECT_NEAR(device_seconds / 8, idle, 1e-6);
}

/// Returns the seconds of the average device.
SecondsPair use_of(const Comparison& comparison, predict::SecondsOf of) {
  for (const TimeUse& use : comparison.uses)
    if (use.of == of) return use.seconds;
  return {};
}

TEST(Explain, FusedTasksAreComparedTaskByTask) {
  const FusibleJob of;
  plan::Plan fused = of.plan;
  fused.fusion = {.threshold = predict::best_threshold(of.scenario, of.plan.tasks),
                  .training = plan::train_pair(of.job)};
  ASSERT_TRUE(fused.fusion.threshold && fused.fusion.training);
  const predict::Estimate apart = estimate(of.scenario, of.plan);
  const predict::Estimate together = estimate(of.scenario, fused);
  const Comparison comparison = compare(of.scenario, {of.plan, apart}, {fused, together});
  double there = 0;
  for (const TimeUse& use : comparison.uses) {
    there += use.seconds.there;
    // Both plans have the same tasks, meshes and layouts.
    if (use.of != predict::SecondsOf::idle && use.of != predict::SecondsOf::hidden_by_fusion) {
      EXPECT_NEAR(use.seconds.here, use.seconds.there, 1e-9) << base::enum_name(use.of);
    }
  }
  EXPECT_NEAR(there, together.iteration_seconds, 1e-6);
  EXPECT_EQ(use_of(comparison, predict::SecondsOf::hidden_by_fusion).here, 0);
  const predict::InterStage& generation = *together.inter_stage;
  const predict::IntraStage& training = *together.intra_stage;
  EXPECT_NEAR(use_of(comparison, predict::SecondsOf::hidden_by_fusion).there,
              generation.seconds() - generation.apart + training.seconds() - training.apart, 1e-6);
  EXPECT_LT(use_of(comparison, predict::SecondsOf::hidden_by_fusion).there, 0);
}

TEST(Explain, PartsOfTasksFusedByOnePlanAreNotCompared) {
  const FusibleJob of;
  plan::Plan fused = of.plan;
  fused.fusion.training = plan::train_pair(of.job);
  const predict::Estimate apart = estimate(of.scenario, of.plan);
  const predict::Estimate together = estimate(of.scenario, fused);
  const Comparison comparison = compare(of.scenario, {of.plan, apart}, {fused, together});
  for (const ActivityComparison& step : comparison.activities) {
    const bool trains =
        of.job.workflow.tasks[step.task].kind == workflow::TaskKind::train && step.kind == plan::Activity::Kind::task;
    EXPECT_EQ(step.fused_there, trains) << step.task;
    EXPECT_FALSE(step.fused_here);
    if (trains) {
      EXPECT_FALSE(step.part.has_value());
    }
  }
}

TEST(Explain, TheBestIsTheFirstPlanOfTheRanking) {
  const plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100, host_memory: 1TB");
  predict::Software software = predict::software_of(job).value();
  software.efficiency.error = 0.2;
  const predict::Scenario scenario = predict::scenario_of(job, software);
  RankOptions options = quick;
  options.simulated = 3;
  const Ranking ranking = rank_plans(scenario, options).value();
  const Explanation explanation = explain(scenario, ranking.plans.back().plan, options).value();
  ASSERT_TRUE(explanation.best.has_value());
  if (explanation.best->simulated) {
    EXPECT_EQ(explanation.best->plan, ranking.plans.front().plan);
  } else {
    for (const RankedPlan& ranked : ranking.plans)
      EXPECT_LT(explanation.best->estimate.iteration_seconds, ranked.estimate.iteration_seconds) << "a change";
  }
}

TEST(Explain, EverySecondOfASerialPlanIsCritical) {
  const plan::Job job = test::grpo_job();
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const plan::Plan plan = test::co_located(job);
  const predict::Estimate estimate = predict::estimate(scenario, plan);
  const std::vector<double> all = criticality(scenario, {plan, estimate});
  // The rule runs in parallel to the passes.
  for (std::size_t step = 0; step < all.size(); ++step)
    EXPECT_NEAR(all[step],
                job.workflow.tasks[estimate.graph.activities[step].task].kind == workflow::TaskKind::rule ? 0 : 1,
                1e-6);
  // Off-policy, generation on other devices is hidden by longer activities, or hides them.
  const plan::Job two = test::grpo_job(1);
  const predict::Scenario scenario_of_two = predict::scenario_of(two, predict::software_of(two).value());
  const plan::Plan apart = test::separated(two);
  const predict::Estimate hidden = predict::estimate(scenario_of_two, apart);
  const std::vector<double> shares = criticality(scenario_of_two, {apart, hidden});
  EXPECT_TRUE(std::any_of(shares.begin(), shares.end(), [](double share) { return std::abs(share) < 1e-6; }));
}

TEST(Explain, OneChangeMakesItFit) {
  const plan::Job whole = test::grpo_job();
  plan::Plan plan = test::co_located(whole);
  const std::size_t generate = task_named(whole, "actor_generate");
  plan.tasks[generate].engine.memory_utilization = 1;
  // Everything fits except the engine.
  const plan::Job job = scarce_job(70);
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const Explanation explanation = explain(scenario, plan, quick).value();
  EXPECT_FALSE(explanation.fits());
  EXPECT_EQ(explanation.limit, generate);
  EXPECT_EQ(explanation.missing, -explanation.estimate.memory[generate].margin());
  ASSERT_FALSE(explanation.changes.empty());
  for (const Change& change : explanation.changes) expect_evaluated(scenario, plan, change);
  const auto engine = std::find_if(explanation.changes.begin(), explanation.changes.end(),
                                   [](const Change& change) { return change.kind == ChangeKind::engine; });
  ASSERT_NE(engine, explanation.changes.end());
  EXPECT_EQ(engine->tasks, std::vector<std::size_t>{generate});
  // A larger share of memory would not fit.
  plan::Plan more = engine->plan;
  EXPECT_LT(more.tasks[generate].engine.memory_utilization, 0.9);
  more.tasks[generate].engine.memory_utilization += 0.05;
  EXPECT_FALSE(predict::estimate(scenario, more).keeps_margin());
}

TEST(Explain, SeveralChangesMakeItFitAndAllAreNeeded) {
  const plan::Job job = scarce_job(24);
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  plan::Plan plan = test::co_located(job);
  for (const char* name : {"actor_infer", "reference_infer", "actor_train"})
    plan.tasks[task_named(job, name)].micro_batching = {.sequences = 64};
  plan.tasks[task_named(job, "actor_generate")].engine.memory_utilization = 0.9;
  const Explanation explanation = explain(scenario, plan, quick).value();
  ASSERT_FALSE(explanation.fits());
  EXPECT_TRUE(explanation.changes.empty());
  ASSERT_TRUE(explanation.repair.has_value());
  const Change& repair = *explanation.repair;
  EXPECT_GE(repair.tasks.size(), 2U);
  expect_evaluated(scenario, plan, repair);
  for (const std::size_t task : repair.tasks) {
    plan::Plan without = repair.plan;
    without.tasks[task] = plan.tasks[task];
    EXPECT_FALSE(predict::estimate(scenario, without).fits()) << job.workflow.tasks[task].name;
  }
}

TEST(Explain, ListsTasksThatDifferFromThePins) {
  plan::Job job = test::grpo_job();
  const plan::Plan plan = test::co_located(job);
  job.fixed.resize(plan.tasks.size());
  const std::size_t train = task_named(job, "actor_train");
  job.fixed[train].layout.set(&llm::Layout::tensor, 2);
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const Explanation explanation = explain(scenario, plan, quick).value();
  EXPECT_EQ(explanation.unlike_pins, std::vector<std::size_t>{train});
  ASSERT_TRUE(explanation.best.has_value());
  for (const Change& change : explanation.changes)
    if (std::find(change.tasks.begin(), change.tasks.end(), train) != change.tasks.end()) {
      EXPECT_EQ(change.plan.tasks[train].layout.tensor, 2);
    }
}

TEST(Explain, ReportsThatNothingFits) {
  const plan::Job job = scarce_job(1);
  const predict::Scenario scenario = predict::scenario_of(job, predict::software_of(job).value());
  const Explanation explanation = explain(scenario, test::co_located(job), quick).value();
  EXPECT_FALSE(explanation.fits());
  EXPECT_FALSE(explanation.best.has_value());
  EXPECT_FALSE(explanation.impossible.empty());
  EXPECT_TRUE(explanation.changes.empty());
}

}  // namespace
}  // namespace dovetail::planner
