#include "study/forecast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/advice/changes.h"
#include "support/jobs.h"
#include "workflow/lengths.h"

namespace dovetail::study {
namespace {

LengthGrowth growth_of(const plan::Job& job, const std::string& text) {
  return LengthGrowth::of(job.workload.response_length, parse_growth(text, GrowthFigure::factor).value(), std::nullopt)
      .value();
}

LengthGrowth flat(const plan::Job& job) {
  return LengthGrowth::of(job.workload.response_length, {}, std::nullopt).value();
}

/// Run that keeps its plan.
ForecastOptions keep(std::int64_t steps) {
  ForecastOptions options;
  options.steps = steps;
  options.searches = 0;
  return options;
}

/// GRPO with padded sequences, so that training needs more memory as they grow.
struct Example {
  plan::Job job = padded();
  predict::Software software = predict::software_of(job).value();
  predict::Scenario scenario = predict::scenario_of(job, software);
  plan::Plan plan = lean();

  /// Generation needs so little memory that training decides what fits.
  plan::Plan lean() const {
    plan::Plan small_engine = test::co_located(job);
    small_engine.tasks.front().engine.memory_utilization = 0.1;
    return small_engine;
  }
  static plan::Job padded() {
    plan::Job grpo = test::grpo_job();
    grpo.workload.packing = false;
    return grpo;
  }
  predict::Estimate at(double factor) const {
    plan::Job grown = job;
    grown.workload.response_length = workflow::scaled(job.workload.response_length, factor);
    return predict::estimate(predict::scenario_of(grown, software), plan);
  }
};

TEST(RunParts, CoverAllStepsOnce) {
  for (const std::int64_t steps : {1, 2, 99, 100, 101, 250, 1000, 12'345}) {
    const std::vector<RunPart> parts = run_parts(steps, 100);
    EXPECT_LE(parts.size(), 100U);
    EXPECT_EQ(parts.front().first, 0);
    EXPECT_EQ(parts.back().last, steps - 1);
    for (std::size_t part = 1; part < parts.size(); ++part) {
      EXPECT_EQ(parts[part].first, parts[part - 1].last + 1);
      EXPECT_LE(parts[part].first, parts[part].last);
    }
  }
}

TEST(Forecast, ConstantLengthsTakeIterationTimesSteps) {
  const Example example;
  const double iteration = predict::estimate(example.scenario, example.plan).iteration_seconds;
  for (const std::int64_t steps : {1, 7, 100, 1000}) {
    const Forecast run = forecast(example.scenario, &example.plan, flat(example.job), keep(steps)).value();
    EXPECT_NEAR(run.seconds, static_cast<double>(steps) * iteration, 1e-6 * run.seconds);
    EXPECT_EQ(run.steps, steps);
    EXPECT_NEAR(run.gpu_hours, run.seconds * 8 / 3600, 1e-9 * run.gpu_hours);
    EXPECT_NEAR(*run.price, 2 * run.gpu_hours, 1e-9 * *run.price);  // of the job's cluster
    EXPECT_NEAR(*run.kept_seconds, run.seconds, 1e-9 * run.seconds);
    ASSERT_EQ(run.spans.size(), 1U);
    EXPECT_EQ(run.spans.front().last, steps - 1);
    EXPECT_FALSE(run.overflow.has_value());
  }
}

TEST(Forecast, ShortRunIsTheSumOfItsSteps) {
  const Example example;
  const LengthGrowth growth = growth_of(example.job, "40:3");
  double sum = 0;
  for (int step = 0; step < 50; ++step) sum += example.at(std::min(3.0, 1 + 2 * step / 40.0)).iteration_seconds;
  const Forecast run = forecast(example.scenario, &example.plan, growth, keep(50)).value();
  EXPECT_NEAR(run.seconds, sum, 1e-9 * sum);
  EXPECT_DOUBLE_EQ(run.spans.front().first_seconds, example.at(1).iteration_seconds);
  EXPECT_DOUBLE_EQ(run.spans.front().last_seconds, example.at(3).iteration_seconds);
  EXPECT_EQ(run.points.front().step, 0);
  EXPECT_EQ(run.points.back().step, 49);
  EXPECT_DOUBLE_EQ(run.points.back().mean, 3 * 512);
}

TEST(Forecast, PartsOfALongRunAddUp) {
  const Example example;
  const LengthGrowth growth = growth_of(example.job, "1000:3");
  const Forecast run = forecast(example.scenario, &example.plan, growth, keep(1000)).value();
  EXPECT_EQ(run.part, 10);
  double sum = 0;
  for (int step = 0; step < 1000; step += 25)
    sum += 25 * RunStep(example.scenario, growth, step + 12).estimate({example.plan, {}, {}}).iteration_seconds;
  EXPECT_NEAR(run.seconds, sum, 0.01 * sum);
}

TEST(Forecast, PeakWithinAPartCounts) {
  Example example;
  const LengthGrowth growth = growth_of(example.job, "0:1,30:4,60:1");
  const Forecast fits = forecast(example.scenario, &example.plan, growth, keep(10'000)).value();
  ASSERT_EQ(fits.part, 100);
  double sum = 0;
  for (int step = 0; step < 100; ++step)
    sum += RunStep(example.scenario, growth, step).estimate({example.plan, {}, {}}).iteration_seconds;
  EXPECT_NEAR(fits.seconds, sum + 9'900 * example.at(1).iteration_seconds, 0.05 * sum);
  EXPECT_TRUE(
      std::any_of(fits.points.begin(), fits.points.end(), [](const ForecastPoint& point) { return point.step == 30; }));
  // Memory for lengths of exactly 2.5 times: 1 + s / 10 exceeds it after step 15.
  const std::vector<predict::TaskMemory> memory = example.at(2.5).memory;
  example.scenario.job.cluster.groups.front().gpu.usable_memory -= memory[planner::min_margin_task(memory)].margin();
  const Forecast over = forecast(example.scenario, &example.plan, growth, keep(10'000)).value();
  ASSERT_TRUE(over.overflow.has_value());
  EXPECT_EQ(over.overflow->step, 16);
  EXPECT_EQ(over.steps, 16);
}

TEST(Forecast, PausesAddTheirTime) {
  const Example example;
  ForecastOptions options = keep(100);
  const double without = forecast(example.scenario, &example.plan, flat(example.job), options)->seconds;
  options.pauses = {{10, 60}, {33, 5}};
  const Forecast run = forecast(example.scenario, &example.plan, flat(example.job), options).value();
  EXPECT_DOUBLE_EQ(run.pause_seconds, 10 * 60 + 3 * 5);
  EXPECT_NEAR(run.seconds, without + run.pause_seconds, 1e-9 * run.seconds);
}

TEST(Forecast, StoppedForecastUsesLongerParts) {
  const Example example;
  parallel::Cancellation cancellation;
  cancellation.request();
  const predict::Scenario stopped = predict::stopped_by(example.scenario, cancellation);
  const Forecast whole = forecast(example.scenario, &example.plan, flat(example.job), keep(1000)).value();
  const Forecast run = forecast(stopped, &example.plan, flat(example.job), keep(1000)).value();
  EXPECT_EQ(whole.part, 10);
  EXPECT_EQ(run.part, 200);
  EXPECT_EQ(run.steps, 1000);
  EXPECT_NEAR(run.seconds, whole.seconds, 1e-9 * whole.seconds);
}

TEST(Forecast, ReportsOverflowStepAndGrowingMemory) {
  Example example;
  // Memory for lengths of exactly 2.5 times.
  const std::vector<predict::TaskMemory> memory = example.at(2.5).memory;
  const std::size_t fullest = planner::min_margin_task(memory);
  ASSERT_EQ(example.job.workflow.tasks[fullest].kind, workflow::TaskKind::train);
  example.scenario.job.cluster.groups.front().gpu.usable_memory -= memory[fullest].margin();
  const LengthGrowth growth = growth_of(example.job, "1000:4");
  const Forecast run = forecast(example.scenario, &example.plan, growth, keep(1000)).value();
  ASSERT_TRUE(run.overflow.has_value());
  const Overflow& overflow = *run.overflow;
  // 1 + 3 s / 1000 exceeds 2.5 after step 500; lengths are integers.
  EXPECT_GE(overflow.step, 500);
  EXPECT_LE(overflow.step, 502);
  EXPECT_EQ(run.steps, overflow.step);
  EXPECT_EQ(run.spans.back().last, overflow.step - 1);
  EXPECT_TRUE(RunStep(example.scenario, growth, overflow.step - 1).estimate({example.plan, {}, {}}).fits());
  EXPECT_FALSE(RunStep(example.scenario, growth, overflow.step).estimate({example.plan, {}, {}}).fits());
  EXPECT_EQ(overflow.task, fullest);
  EXPECT_GT(overflow.needed, overflow.usable);
  ASSERT_TRUE(overflow.part.has_value());
  EXPECT_GT(overflow.part_growth, 0);
  EXPECT_FALSE(run.kept_seconds.has_value());
}

TEST(Forecast, PlanThatNeverFitsHasNoRun) {
  Example example;
  example.scenario.job.cluster.groups.front().gpu.usable_memory = std::int64_t{1} << 30;
  const Forecast run = forecast(example.scenario, &example.plan, flat(example.job), keep(10)).value();
  EXPECT_EQ(run.steps, 0);
  EXPECT_TRUE(run.spans.empty());
  EXPECT_EQ(run.overflow->step, 0);
}

/// Job with a slow given plan and an instant search.
ForecastOptions search(std::int64_t steps) {
  ForecastOptions options;
  options.steps = steps;
  options.searches = 2;
  options.rank = test::quick_options();
  return options;
}

TEST(Forecast, ScheduleObeysItsRules) {
  Example example;
  const std::vector<predict::TaskMemory> memory = example.at(2).memory;
  example.scenario.job.cluster.groups.front().gpu.usable_memory -= memory[planner::min_margin_task(memory)].margin();
  example.scenario.job.limits.margin = plan::MinMargin{};
  const LengthGrowth growth = growth_of(example.job, "200:4");
  const Forecast run = forecast(example.scenario, &example.plan, growth, search(200)).value();
  EXPECT_EQ(run.plans.front().plan, example.plan);
  EXPECT_FALSE(run.plans.front().found_at.has_value());
  ASSERT_GE(run.spans.size(), 2U);
  EXPECT_EQ(run.steps, 200);
  std::int64_t next = 0;
  for (std::size_t index = 0; index < run.spans.size(); ++index) {
    const ForecastSpan& span = run.spans[index];
    EXPECT_EQ(span.first, next);
    next = span.last + 1;
    for (const std::int64_t step : {span.first, span.last})
      EXPECT_TRUE(RunStep(example.scenario, growth, step).estimate(run.plans[span.plan]).fits());
    if (index > 0) {
      EXPECT_NE(span.plan, run.spans[index - 1].plan);
    }
    if (span.saved) {
      EXPECT_GT(*span.saved, 0);
    }
  }
  EXPECT_EQ(next, 200);
}

TEST(Forecast, CostlyRestartIsAvoided) {
  const Example example;
  ForecastOptions options = search(100);
  const LengthGrowth growth = flat(example.job);
  plan::Plan slow = example.plan;
  slow.tasks.back().layout.recomputation = llm::Recomputation::full;
  slow.tasks.back().micro_batching.sequences = 1;
  const Forecast free = forecast(example.scenario, &slow, growth, options).value();
  ASSERT_GE(free.spans.size(), 2U);
  ASSERT_TRUE(free.spans[1].saved.has_value());
  options.restart_seconds = 0.9 * *free.spans[1].saved;
  const Forecast cheap = forecast(example.scenario, &slow, growth, options).value();
  EXPECT_EQ(cheap.spans.size(), 2U);
  EXPECT_DOUBLE_EQ(cheap.restart_seconds, options.restart_seconds);
  options.restart_seconds = 1.1 * *free.spans[1].saved;
  const Forecast dear = forecast(example.scenario, &slow, growth, options).value();
  EXPECT_EQ(dear.spans.size(), 1U);
  EXPECT_GT(dear.seconds, free.seconds);
}

TEST(Forecast, WithoutAPlanItStartsWithOneOfTheFastest) {
  const Example example;
  const Forecast run = forecast(example.scenario, nullptr, flat(example.job), search(100)).value();
  const double fastest =
      planner::rank_plans(example.scenario, test::quick_options())->plans.front().estimate.iteration_seconds;
  ASSERT_EQ(run.spans.size(), 1U);
  EXPECT_DOUBLE_EQ(run.spans.front().first_seconds, fastest);
  EXPECT_EQ(run.plans.front().found_at, 0);
}

}  // namespace
}  // namespace dovetail::study
