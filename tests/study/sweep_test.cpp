#include "study/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/advice/fit.h"
#include "support/jobs.h"
#include "workflow/lengths.h"

namespace dovetail::study {
namespace {

using testing::HasSubstr;

/// A plan of PPO on eight devices, all tasks on all of them.
struct Example {
  plan::Job job = test::ppo_job("nodes: 1, gpus_per_node: 8, gpu: H100, price: 2");
  predict::Software software = predict::software_of(job).value();
  predict::Scenario scenario = predict::scenario_of(job, software);
  plan::Plan plan = best_of();

  plan::Plan best_of() const {
    planner::RankOptions options = test::quick_options();
    options.placements = {planner::Placement::co_located};
    plan::Plan best = planner::rank_plans(scenario, options)->plans.front().plan;
    best.fusion = {};
    return best;
  }
};

SweepOptions over(SweepInput input, std::vector<double> values = {}) {
  SweepOptions options;
  options.over = input;
  options.values = std::move(values);
  return options;
}

TEST(Sweep, APointIsTheEstimateOfTheJobAtThatValue) {
  const Example example;
  const Sweep sweep = study::sweep(example.scenario, &example.plan, over(SweepInput::batch, {16, 64, 128})).value();
  ASSERT_EQ(sweep.points.size(), 3U);
  EXPECT_EQ(sweep.own, 1U);
  for (const SweepPoint& point : sweep.points) {
    plan::Job job = example.job;
    job.workload.prompts = static_cast<std::int64_t>(*point.value);
    const predict::Estimate estimate = predict::estimate(predict::scenario_of(job, example.software), example.plan);
    EXPECT_EQ(point.figures->iteration_seconds, estimate.iteration_seconds);
    EXPECT_EQ(point.figures->samples_per_second, estimate.samples_per_second);
    EXPECT_EQ(point.figures->tokens_per_second, estimate.tokens_per_second);
    EXPECT_EQ(point.figures->gpu_hours, estimate.gpu_hours);
    EXPECT_EQ(point.figures->price, estimate.price);
    EXPECT_EQ(point.figures->fit, estimate.fit());
  }
}

TEST(Sweep, TheBestHasTheMostSamplesASecondOfWhatFits) {
  const Example example;
  const Sweep sweep = study::sweep(example.scenario, &example.plan, over(SweepInput::micro_batch)).value();
  ASSERT_TRUE(sweep.fastest.has_value());
  EXPECT_EQ(sweep.fastest, sweep.cheapest);  // on the same devices
  const SweepFigures& best = *sweep.points[*sweep.fastest].figures;
  EXPECT_TRUE(best.fits());
  for (const SweepPoint& point : sweep.points) {
    if (point.figures && point.figures->fits()) {
      EXPECT_LE(point.figures->samples_per_second, best.samples_per_second);
    }
  }
}

TEST(Sweep, LengthsSayWhereThePlanStopsFitting) {
  plan::Job job = test::grpo_job();
  job.workload.packing = false;  // padded sequences take what they are long
  const predict::Software software = predict::software_of(job).value();
  plan::Plan plan = test::co_located(job);
  plan.tasks.front().engine.memory_utilization = 0.1;  // training decides what fits
  const Sweep all =
      study::sweep(predict::scenario_of(job, software), &plan, over(SweepInput::length, {1, 2, 4, 8})).value();
  EXPECT_FALSE(all.fastest.has_value());  // nobody chooses lengths
  ASSERT_FALSE(all.overflow.has_value());
  const SweepFigures& at_four = *all.points[2].figures;
  ASSERT_GT(all.points[3].figures->needed, at_four.needed);
  // As much memory as four times the lengths need, and no more.
  plan::Job scarce = job;
  scarce.cluster.groups.front().gpu.usable_memory -= at_four.usable - at_four.needed;
  const Sweep less =
      study::sweep(predict::scenario_of(scarce, software), &plan, over(SweepInput::length, {1, 2, 4, 8})).value();
  EXPECT_TRUE(less.points[2].figures->fits());
  EXPECT_EQ(less.overflow, 3U);
  EXPECT_EQ(less.points[3].figures->missing, all.points[3].figures->needed - at_four.needed);
}

TEST(Sweep, ACapKeepsLengthsBelowIt) {
  const Example example;
  SweepOptions options = over(SweepInput::length, {4});
  options.cap = 1024;
  const Sweep sweep = study::sweep(example.scenario, &example.plan, options).value();
  plan::Job job = example.job;
  job.workload.response_length = workflow::scaled(job.workload.response_length, 4, 1024);
  EXPECT_EQ(sweep.points.front().figures->iteration_seconds,
            predict::estimate(predict::scenario_of(job, example.software), example.plan).iteration_seconds);
}

TEST(Sweep, ThresholdsStandBesideNoMigrationAndAreSimulatedAsThePlanIs) {
  const Example example;
  SweepOptions options = over(SweepInput::threshold, {0.2, 0.5});
  options.simulate = true;
  options.simulation.draws = 2;
  const Sweep sweep = study::sweep(example.scenario, &example.plan, options).value();
  ASSERT_EQ(sweep.points.size(), 3U);
  EXPECT_FALSE(sweep.points.front().value.has_value());
  EXPECT_EQ(sweep.own, 0U);
  for (const SweepPoint& point : sweep.points) {
    plan::Plan plan = example.plan;
    plan.fusion.threshold = point.value;
    EXPECT_EQ(point.plan, plan);
    EXPECT_EQ(point.figures->iteration_seconds, predict::estimate(example.scenario, plan).iteration_seconds);
    const predict::Simulation played = predict::Simulator(example.scenario, options.simulation).simulate(plan).value();
    EXPECT_EQ(point.figures->simulated->mean, played.iteration_seconds);
    EXPECT_EQ(point.figures->simulated->least, *std::min_element(played.draws.begin(), played.draws.end()));
    EXPECT_EQ(point.figures->seconds(), played.iteration_seconds);
    ASSERT_EQ(point.figures->migrations.has_value(), point.value.has_value());
    const auto migrating = std::count_if(played.migrations.begin(), played.migrations.end(),
                                         [](const auto& of) { return of.has_value(); });
    EXPECT_EQ(point.value ? point.figures->migrations->migrating : 0, migrating);
    EXPECT_DOUBLE_EQ(point.figures->samples_per_second,
                     static_cast<double>(point.figures->samples) / played.iteration_seconds);
  }
}

TEST(Sweep, OfNodesPlansAreFoundAnew) {
  const Example example;
  SweepOptions options = over(SweepInput::nodes, {1, 2});
  options.rank = test::quick_options();
  options.rank.placements = {planner::Placement::co_located};
  const Sweep sweep = study::sweep(example.scenario, nullptr, options).value();
  ASSERT_EQ(sweep.points.size(), 2U);
  for (const SweepPoint& point : sweep.points) {
    plan::Job job = example.job;
    job.cluster = planner::with_nodes(job.cluster, static_cast<int>(*point.value));
    const planner::Ranking ranking =
        planner::rank_plans(predict::scenario_of(job, example.software), options.rank).value();
    EXPECT_EQ(point.plan, ranking.plans.front().plan);
    EXPECT_EQ(point.figures->iteration_seconds, ranking.plans.front().estimate.iteration_seconds);
  }
}

TEST(Sweep, AValueThatCannotBeHadIsAPointThatSaysSo) {
  const Example example;
  const Sweep sweep = study::sweep(example.scenario, &example.plan, over(SweepInput::mini_batch, {2, 1000})).value();
  EXPECT_TRUE(sweep.points.front().figures.has_value());
  EXPECT_FALSE(sweep.points.back().figures.has_value());
  EXPECT_THAT(sweep.points.back().problem, HasSubstr("1000 optimizer steps"));
  EXPECT_EQ(sweep.fastest, 0U);
}

TEST(Sweep, WhatNoValueCanHaveIsAnError) {
  const Example example;
  const auto bandwidth = study::sweep(example.scenario, &example.plan, over(SweepInput::bandwidth));
  ASSERT_FALSE(bandwidth.ok());
  EXPECT_THAT(bandwidth.error().message, HasSubstr("one node"));
  const plan::Job separate = test::grpo_job();
  const plan::Plan plan = test::separated(separate);
  const auto threshold =
      study::sweep(predict::scenario_of(separate, example.software), &plan, over(SweepInput::threshold));
  ASSERT_FALSE(threshold.ok());
  EXPECT_FALSE(threshold.error().message.empty());
}

TEST(Sweep, OfStalenessNeedsAPolicyThatGenerates) {
  const plan::Job job = test::dpo_job();
  const predict::Software software = predict::software_of(job).value();
  plan::Plan plan;
  plan.tasks.resize(job.workflow.tasks.size());
  const auto sweep = study::sweep(predict::scenario_of(job, software), &plan, over(SweepInput::staleness, {0, 1}));
  ASSERT_FALSE(sweep.ok());
  EXPECT_EQ(sweep.error().message,
            "dpo generates nothing: there is no policy that could be old; accepted: another input to vary");
}

TEST(Sweep, StopsWhereItIsCancelled) {
  const Example example;
  parallel::Cancellation cancellation;
  SweepOptions options = over(SweepInput::micro_batch, {0.5, 1, 2});
  options.on_point = [&](std::size_t point, std::size_t of) {
    EXPECT_EQ(of, 3U);
    if (point == 1) cancellation.request();
  };
  const Sweep sweep = study::sweep(predict::stopped_by(example.scenario, cancellation), &example.plan, options).value();
  EXPECT_EQ(sweep.points.size(), 1U) << "what may be cut short does not stand beside the others";
  EXPECT_FALSE(sweep.complete);
  EXPECT_FALSE(sweep.fastest) << "of half of the points none is the best";
}

/// A sweep over thresholds of which only what was played on draws of lengths is known; the first is the fastest.
Sweep played_sweep(const std::vector<std::vector<double>>& draws) {
  Sweep sweep;
  sweep.fastest = 0;
  for (const std::vector<double>& of_point : draws) {
    SweepPoint& point = sweep.points.emplace_back();
    point.value = 0.1 * static_cast<double>(sweep.points.size());
    point.figures = SweepFigures{};
    point.figures->simulated = PlayedSeconds{0, 0, 0, of_point};
  }
  return sweep;
}

TEST(Sweep, ATieTookNoLongerThanTheFastestAtOneDrawAtLeast) {
  Sweep sweep = played_sweep({{10, 20}, {11, 19}, {11, 20.5}, {11, 20}});
  EXPECT_TRUE(ties_with_fastest(sweep, sweep.points[1]));
  EXPECT_FALSE(ties_with_fastest(sweep, sweep.points[2])) << "less than some draw of the fastest, but slower at each";
  EXPECT_TRUE(ties_with_fastest(sweep, sweep.points[3]));
  sweep.points[1].figures->simulated.reset();
  EXPECT_FALSE(ties_with_fastest(sweep, sweep.points[1]));
}

}  // namespace
}  // namespace dovetail::study
