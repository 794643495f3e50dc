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

/// PPO plan on eight devices, with all tasks on all of them.
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

TEST(Sweep, PointEqualsTheEstimateAtItsValue) {
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

TEST(Sweep, BestPointHasTheHighestThroughputThatFits) {
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

TEST(Sweep, LengthsShowWhereThePlanStopsFitting) {
  plan::Job job = test::grpo_job();
  job.workload.packing = false;  // padded sequences take what they are long
  const predict::Software software = predict::software_of(job).value();
  plan::Plan plan = test::co_located(job);
  plan.tasks.front().engine.memory_utilization = 0.1;  // training decides what fits
  const Sweep all =
      study::sweep(predict::scenario_of(job, software), &plan, over(SweepInput::length, {1, 2, 4, 8})).value();
  EXPECT_FALSE(all.fastest.has_value());  // lengths are not a choice
  ASSERT_FALSE(all.overflow.has_value());
  const SweepFigures& at_four = *all.points[2].figures;
  ASSERT_GT(all.points[3].figures->needed, at_four.needed);
  // Exactly the memory that four times the lengths need.
  plan::Job scarce = job;
  scarce.cluster.groups.front().gpu.usable_memory -= at_four.usable - at_four.needed;
  const Sweep less =
      study::sweep(predict::scenario_of(scarce, software), &plan, over(SweepInput::length, {1, 2, 4, 8})).value();
  EXPECT_TRUE(less.points[2].figures->fits());
  EXPECT_EQ(less.overflow, 3U);
  EXPECT_EQ(less.points[3].figures->missing, all.points[3].figures->needed - at_four.needed);
}

TEST(Sweep, CapLimitsLengths) {
  const Example example;
  SweepOptions options = over(SweepInput::length, {4});
  options.cap = 1024;
  const Sweep sweep = study::sweep(example.scenario, &example.plan, options).value();
  plan::Job job = example.job;
  job.workload.response_length = workflow::scaled(job.workload.response_length, 4, 1024);
  EXPECT_EQ(sweep.points.front().figures->iteration_seconds,
            predict::estimate(predict::scenario_of(job, example.software), example.plan).iteration_seconds);
}

TEST(Sweep, ThresholdsAreSimulatedAlongWithNoMigration) {
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
    const predict::Simulation simulated =
        predict::Simulator(example.scenario, options.simulation).simulate(plan).value();
    EXPECT_EQ(point.figures->simulated->mean, simulated.iteration_seconds);
    EXPECT_EQ(point.figures->simulated->min, *std::min_element(simulated.draws.begin(), simulated.draws.end()));
    EXPECT_EQ(point.figures->seconds(), simulated.iteration_seconds);
    ASSERT_EQ(point.figures->migrations.has_value(), point.value.has_value());
    const auto migrating = std::count_if(simulated.migrations.begin(), simulated.migrations.end(),
                                         [](const auto& of) { return of.has_value(); });
    EXPECT_EQ(point.value ? point.figures->migrations->migrating : 0, migrating);
    EXPECT_DOUBLE_EQ(point.figures->samples_per_second,
                     static_cast<double>(point.figures->samples) / simulated.iteration_seconds);
  }
}

TEST(Sweep, NodesSearchNewPlans) {
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

TEST(Sweep, ImpossibleValueIsAPointWithAProblem) {
  const Example example;
  const Sweep sweep = study::sweep(example.scenario, &example.plan, over(SweepInput::mini_batch, {2, 1000})).value();
  EXPECT_TRUE(sweep.points.front().figures.has_value());
  EXPECT_FALSE(sweep.points.back().figures.has_value());
  EXPECT_THAT(sweep.points.back().problem, HasSubstr("1000 optimizer steps"));
  EXPECT_EQ(sweep.fastest, 0U);
}

TEST(Sweep, ImpossibleInputIsAnError) {
  const Example example;
  const auto bandwidth = study::sweep(example.scenario, &example.plan, over(SweepInput::bandwidth));
  ASSERT_FALSE(bandwidth.ok());
  EXPECT_THAT(bandwidth.error().message, HasSubstr("single node"));
  const plan::Job separate = test::grpo_job();
  const plan::Plan plan = test::separated(separate);
  const auto threshold =
      study::sweep(predict::scenario_of(separate, example.software), &plan, over(SweepInput::threshold));
  ASSERT_FALSE(threshold.ok());
  EXPECT_FALSE(threshold.error().message.empty());
}

TEST(Sweep, StalenessNeedsAGeneratingPolicy) {
  const plan::Job job = test::dpo_job();
  const predict::Software software = predict::software_of(job).value();
  plan::Plan plan;
  plan.tasks.resize(job.workflow.tasks.size());
  const auto sweep = study::sweep(predict::scenario_of(job, software), &plan, over(SweepInput::staleness, {0, 1}));
  ASSERT_FALSE(sweep.ok());
  EXPECT_EQ(sweep.error().message,
            "dpo does not generate with a trained model, so no policy can be stale; vary another input");
}

TEST(Sweep, StopsWhenCancelled) {
  const Example example;
  parallel::Cancellation cancellation;
  SweepOptions options = over(SweepInput::micro_batch, {0.5, 1, 2});
  options.on_point = [&](std::size_t point, std::size_t of) {
    EXPECT_EQ(of, 3U);
    if (point == 1) cancellation.request();
  };
  const Sweep sweep = study::sweep(predict::stopped_by(example.scenario, cancellation), &example.plan, options).value();
  EXPECT_EQ(sweep.points.size(), 1U) << "a point that may be cut short is left out";
  EXPECT_FALSE(sweep.complete);
  EXPECT_FALSE(sweep.fastest) << "an incomplete sweep has no best point";
}

/// Sweep over thresholds with simulated draws only; the first point is the fastest.
Sweep simulated_sweep(const std::vector<std::vector<double>>& draws) {
  Sweep sweep;
  sweep.fastest = 0;
  for (const std::vector<double>& of_point : draws) {
    SweepPoint& point = sweep.points.emplace_back();
    point.value = 0.1 * static_cast<double>(sweep.points.size());
    point.figures = SweepFigures{};
    point.figures->simulated = SimulatedSeconds{0, 0, 0, of_point};
  }
  return sweep;
}

TEST(Sweep, TieIsNoSlowerInAtLeastOneDraw) {
  Sweep sweep = simulated_sweep({{10, 20}, {11, 19}, {11, 20.5}, {11, 20}});
  EXPECT_TRUE(ties_with_fastest(sweep, sweep.points[1]));
  EXPECT_FALSE(ties_with_fastest(sweep, sweep.points[2])) << "less than some draw of the fastest, but slower at each";
  EXPECT_TRUE(ties_with_fastest(sweep, sweep.points[3]));
  sweep.points[1].figures->simulated.reset();
  EXPECT_FALSE(ties_with_fastest(sweep, sweep.points[1]));
}

using testing::DoubleEq;
using testing::ElementsAre;

std::string fault_of(SweepInput input, std::string_view text) {
  const auto values = parse_values(input, text);
  return values.ok() ? "" : values.error().message;
}

TEST(SweepInput, NamesRoundTrip) {
  for (const std::string_view name : base::enum_names<SweepInput>()) {
    const std::optional<SweepInput> input = base::enum_named<SweepInput>(name);
    ASSERT_TRUE(input);
    EXPECT_EQ(base::enum_name(*input), name);
  }
  EXPECT_EQ(base::enum_named<SweepInput>("thresholds"), std::nullopt);
}

TEST(SweepInput, ParsesValues) {
  EXPECT_THAT(parse_values(SweepInput::threshold, "20%,0.05").value(), ElementsAre(DoubleEq(0.05), DoubleEq(0.2)));
  EXPECT_THAT(parse_values(SweepInput::batch, "256,64,256").value(), ElementsAre(64, 256));
  EXPECT_THAT(parse_values(SweepInput::length, "0.5x,2").value(), ElementsAre(0.5, 2));
  EXPECT_THAT(parse_values(SweepInput::staleness, "0,1").value(), ElementsAre(0, 1));
}

TEST(SweepInput, RejectsInvalidValues) {
  EXPECT_THAT(fault_of(SweepInput::threshold, "100%"),
              HasSubstr("accepted: a share of the samples, above 0% and below 100%"));
  EXPECT_THAT(fault_of(SweepInput::batch, "2.5"),
              HasSubstr("`2.5` is not a valid value of batch; accepted: an integer from 1"));
  EXPECT_THAT(fault_of(SweepInput::batch, "64,,128"), HasSubstr("`` is not a valid value"));
  EXPECT_THAT(fault_of(SweepInput::length, "long"),
              HasSubstr("`long` is not a valid value of length; accepted: a factor"));
  EXPECT_THAT(fault_of(SweepInput::length, "0"), HasSubstr("accepted: a factor from 0.001"));
  EXPECT_THAT(fault_of(SweepInput::nodes, "0"), HasSubstr("accepted: an integer from 1"));
}

TEST(SweepInput, DefaultsIncludeTheOwnValue) {
  const plan::Job job = test::grpo_job();
  const plan::Plan plan = test::co_located(job);
  for (const auto& [name, input, text] : names_of(SweepInput{})) {
    const std::vector<double> values = default_values(input, job, &plan);
    EXPECT_GE(values.size(), 2U) << name;
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
    for (const double value : values) EXPECT_EQ(find_value_fault(input, value), std::nullopt) << name << value;
    if (const auto own = own_value(input, job, &plan)) {
      EXPECT_TRUE(std::find(values.begin(), values.end(), *own) != values.end()) << name;
    }
  }
  EXPECT_THAT(default_values(SweepInput::batch, job, &plan), ElementsAre(8, 16, 32, 64, 128));
}

TEST(SweepInput, ValueChangesOneSetting) {
  const plan::Job job = test::grpo_job();
  const plan::Plan plan = test::co_located(job);
  EXPECT_EQ(with_value(SweepInput::batch, 64, job, plan, std::nullopt)->job.workload.prompts, 64);
  EXPECT_EQ(with_value(SweepInput::samples, 4, job, plan, std::nullopt)->job.workload.samples_per_prompt, 4);
  EXPECT_EQ(with_value(SweepInput::mini_batch, 8, job, plan, std::nullopt)->job.workload.mini_batches, 8);
  EXPECT_EQ(with_value(SweepInput::staleness, 1, job, plan, std::nullopt)->job.workload.steps_off_policy, 1);
  EXPECT_EQ(with_value(SweepInput::length, 3, job, plan, std::nullopt)->job.workload.response_length.longest(), 1536);
  EXPECT_EQ(with_value(SweepInput::length, 3, job, plan, 1000)->job.workload.response_length.longest(), 1000);
  EXPECT_EQ(with_value(SweepInput::bandwidth, 0.5, job, plan, std::nullopt)->job.cluster.networks.front().bandwidth,
            job.cluster.networks.front().bandwidth / 2);
  const SweptJob doubled = with_value(SweepInput::micro_batch, 2, job, plan, std::nullopt).value();
  EXPECT_EQ(doubled.plan.tasks.back().micro_batching.sequences, 2 * plan.tasks.back().micro_batching.sequences);
  // Inference keeps its micro-batches.
  EXPECT_EQ(doubled.plan.tasks.front(), plan.tasks.front());
}

TEST(SweepInput, ImpossibleValuesHaveAReason) {
  const plan::Job job = test::grpo_job();
  const plan::Plan plan = test::co_located(job);
  const auto steps = with_value(SweepInput::mini_batch, 1000, job, plan, std::nullopt);
  ASSERT_FALSE(steps.ok());
  EXPECT_THAT(steps.error().message,
              HasSubstr("1000 optimizer steps per epoch need at least that many samples, but there are 256"));
  const auto prompts = with_value(SweepInput::batch, 10'000'000, job, plan, std::nullopt);
  ASSERT_FALSE(prompts.ok());
  EXPECT_THAT(prompts.error().message, HasSubstr("exceed the limit"));
}

}  // namespace

}  // namespace dovetail::study
