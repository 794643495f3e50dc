#include "report/iteration/job_page.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "answer/text/figures.h"
#include "report/page/chart_sections.h"
#include "simulate/iteration.h"
#include "support/jobs.h"

namespace dovetail::report {
namespace {

using testing::Each;
using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;

/// A simulated plan of a job, also with less fusion.
answer::SimulationAnswer simulated_plan(const plan::Job& job, const plan::Plan& plan) {
  answer::SimulationAnswer simulated{.scenario = predict::scenario_of(job, predict::software_of(job).value()),
                                     .plan = plan};
  predict::Simulator simulator(simulated.scenario, {});
  simulated.simulation = simulator.simulate(plan).value();
  simulated.variants = study::simulate_fusion_variants(simulator, plan, simulated.simulation).value();
  return simulated;
}

planner::Ranking ranking_of(const plan::Job& job) {
  return planner::rank_plans(predict::scenario_of(job, predict::software_of(job).value()), test::quick_options())
      .value();
}

plan::Job ppo_job() { return test::ppo_job("nodes: 2, gpus_per_node: 4, gpu: H100, host_memory: 1TB"); }

template <class Kind>
const Kind& section(const Page& page, std::string_view title) {
  for (const Section& one : page.sections)
    if (const auto* found = std::get_if<Kind>(&one); found && found->title == title) return *found;
  throw std::runtime_error("no section " + std::string(title));
}

const Figure& figure(const Page& page, std::string_view name) {
  return *std::find_if(page.figures.begin(), page.figures.end(), [&](const Figure& one) { return one.name == name; });
}

TEST(JobPage, ShowsIterationTimeAndWhetherThePlanFits) {
  const plan::Job job = test::grpo_job();
  const answer::SimulationAnswer simulated = simulated_plan(job, test::co_located(job));
  const Page page = job_page(simulated);
  EXPECT_EQ(figure(page, "iteration").value, answer::seconds_text(simulated.simulation.iteration_seconds));
  EXPECT_EQ(figure(page, "iteration").note, answer::seconds_text(simulated.simulation.closed.iteration_seconds) +
                                                " analytical (from formulas, not simulated)");
  EXPECT_THAT(figure(page, "fits").value, EndsWith("GiB left"));
  EXPECT_THAT(section<Table>(page, "Does it fit?").note, HasSubstr("It fits, with the required margin"));
  const Table& fusion = section<Table>(page, "Gain from stage fusion");
  EXPECT_THAT(fusion.rows, SizeIs(1)) << "this plan fuses nothing";
}

TEST(JobPage, BeginsWithThePlanItsTimeAndItsFit) {
  const plan::Job job = test::grpo_job();
  const answer::SimulationAnswer simulated = simulated_plan(job, test::co_located(job));
  const Page page = job_page(simulated);
  const auto& plan = std::get<Table>(page.sections.front());
  EXPECT_EQ(plan.title, "Plan");
  EXPECT_FALSE(plan.rows.empty());
  EXPECT_THAT(plan.note, testing::StartsWith(answer::seconds_text(simulated.simulation.iteration_seconds) +
                                             " per iteration (simulated)."));
  EXPECT_THAT(plan.note, HasSubstr("It fits"));
  EXPECT_TRUE(std::holds_alternative<Chart>(page.sections[1])) << "nothing to compare with";
  EXPECT_FALSE(gain_of(simulated).has_value());
}

TEST(JobPage, ShowsTheGainOverUsualPlacements) {
  const plan::Job job = ppo_job();
  const planner::Ranking ranking = ranking_of(job);
  answer::SimulationAnswer simulated = simulated_plan(job, ranking.plans.front().plan);
  simulated.ranking = ranking;
  const std::optional<Gain> gain = gain_of(simulated);
  ASSERT_TRUE(gain.has_value());
  EXPECT_THAT(gain->over, EndsWith(", the fastest usual placement"));
  EXPECT_GE(gain->factor(), 1);
  EXPECT_EQ(faster_plan(simulated), nullptr);
  const Page page = job_page(simulated);
  EXPECT_EQ(figure(page, "speed").value, fmt::format("{:.2f}x", gain->factor()));
  EXPECT_THAT(std::get<Table>(page.sections[0]).note, HasSubstr("the fastest usual placement"));
  EXPECT_EQ(std::get<Table>(page.sections[1]).title, "Ranked plans");
  EXPECT_TRUE(std::holds_alternative<Chart>(page.sections[2]));
}

TEST(JobPage, ShowsTheGainOverTheTrainersConfiguration) {
  const plan::Job job = ppo_job();
  const planner::Ranking ranking = ranking_of(job);
  ASSERT_GE(ranking.plans.size(), 2U);
  answer::SimulationAnswer simulated = simulated_plan(job, ranking.plans.front().plan);
  simulated.configured = {ranking.plans.back().plan, ranking.plans.back().estimate};
  const std::optional<Gain> gain = gain_of(simulated);
  ASSERT_TRUE(gain.has_value());
  EXPECT_EQ(gain->over, "the trainer's configuration");
  EXPECT_EQ(gain->seconds_there, ranking.plans.back().estimate.iteration_seconds);
}

TEST(JobPage, ShowsAFasterPlan) {
  const plan::Job job = ppo_job();
  const planner::Ranking ranking = ranking_of(job);
  answer::SimulationAnswer simulated = simulated_plan(job, ranking.plans.back().plan);
  simulated.ranking = ranking;
  simulated.as_configured = true;
  ASSERT_NE(faster_plan(simulated), nullptr);
  EXPECT_FALSE(gain_of(simulated).has_value());
  const Page page = job_page(simulated);
  EXPECT_EQ(figure(page, "best plan found").value,
            answer::seconds_text(faster_plan(simulated)->estimate.iteration_seconds));
  EXPECT_THAT(std::get<Table>(page.sections[0]).note,
              testing::AllOf(testing::StartsWith("The plan of the trainer's configuration: "),
                             HasSubstr("A faster plan was found: ")));
}

TEST(JobPage, HasAtMostTenLegendEntries) {
  const plan::Job job = ppo_job();
  const answer::SimulationAnswer simulated = simulated_plan(job, ranking_of(job).plans.front().plan);
  const Page page = job_page(simulated);
  EXPECT_LE(legend_of(section<Chart>(page, "Timeline").timeline).entries.size(), max_legend_entries);
  EXPECT_LE(section<Breakdown>(page, "Where the time goes").segments.size(), max_legend_entries);
}

TEST(JobPage, ShowsMemoryWithItsLimit) {
  const plan::Job job = test::grpo_job();
  const answer::SimulationAnswer simulated = simulated_plan(job, test::co_located(job));
  const Page page = job_page(simulated);
  const auto& chart = section<Chart>(page, "Timeline");
  ASSERT_FALSE(chart.timeline.counters.empty());
  for (const timeline::Counter& counter : chart.timeline.counters) {
    ASSERT_TRUE(counter.capacity.has_value());
    EXPECT_EQ(*counter.capacity, base::Memory(simulated.simulation.closed.memory[0].usable));
    for (const auto& step : counter.steps) EXPECT_LE(step.second, *counter.capacity);
  }
}

TEST(JobPage, ShowsMissingMemory) {
  const plan::Job job = test::grpo_job();
  plan::Plan plan = test::co_located(job);
  for (plan::TaskPlan& planned : plan.tasks) planned.engine.memory_utilization = 0.99;
  const answer::SimulationAnswer simulated = simulated_plan(job, plan);
  ASSERT_FALSE(simulated.simulation.closed.fits());
  const Page page = job_page(simulated);
  EXPECT_THAT(figure(page, "does not fit").value, EndsWith("GiB missing"));
  EXPECT_THAT(section<Table>(page, "Does it fit?").note, HasSubstr("It does not fit: "));
}

TEST(JobPage, LinksActivitiesToTheirFirstBars) {
  const plan::Job job = test::grpo_job();
  const answer::SimulationAnswer simulated = simulated_plan(job, test::separated(job));
  const Page page = job_page(simulated);
  const auto& chart = section<Chart>(page, "Timeline");
  const Table& activities = section<Table>(page, "Activities");
  ASSERT_EQ(activities.bars.size(), activities.rows.size());
  for (std::size_t row = 0; row < activities.rows.size(); ++row) {
    if (activities.bars[row] < 0) continue;
    const timeline::Bar& bar = chart.timeline.bars[static_cast<std::size_t>(activities.bars[row])];
    const std::string& activity = activities.rows[row][0];
    const bool moves = activity.starts_with("weights to ");
    EXPECT_THAT(title_of(chart.timeline, bar),
                HasSubstr(moves ? activity.substr(std::string("weights to ").size()) : activity));
    EXPECT_EQ(bar.bar_kind == timeline::BarKind::reallocation, moves);
  }
  EXPECT_TRUE(std::any_of(activities.bars.begin(), activities.bars.end(), [](std::int32_t bar) { return bar >= 0; }));
}

TEST(JobPage, LinksHostTransfersToTheirBars) {
  plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100, host_memory: 1TB");
  job.software.prefetch = true;
  const answer::SimulationAnswer simulated = simulated_plan(job, test::pipelined_on_16(job));
  const std::size_t devices = simulated.simulation.iteration.trace.lanes.size();
  const Page page = job_page(simulated);
  const auto& chart = section<Chart>(page, "Timeline");
  std::size_t behind_devices = 0;
  for (std::size_t lane = 0; lane < devices; ++lane) behind_devices += chart.timeline.lanes[lane].bars;
  const Table& activities = section<Table>(page, "Activities");
  std::vector<std::int32_t> found;
  for (std::size_t row = 0; row < activities.rows.size(); ++row) {
    if (!activities.rows[row][0].ends_with("host")) continue;
    EXPECT_GE(activities.bars[row], static_cast<std::int32_t>(behind_devices)) << activities.rows[row][0];
    found.push_back(activities.bars[row]);
  }
  EXPECT_FALSE(found.empty());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(std::adjacent_find(found.begin(), found.end()), found.end()) << "each leads to its own bar";
}

TEST(JobPage, ComparesWithAllRankedPlans) {
  const plan::Job job = ppo_job();
  const planner::Ranking ranking = ranking_of(job);
  answer::SimulationAnswer simulated = simulated_plan(job, ranking.plans.front().plan);
  simulated.ranking = ranking;
  const Table table = section<Table>(job_page(simulated), "Ranked plans");
  ASSERT_EQ(table.rows.size(), ranking.plans.size());
  EXPECT_EQ(table.rows[0][3], "shown");
  EXPECT_THAT(table.marked, testing::ElementsAre(0));
  for (std::size_t row = 1; row < table.rows.size(); ++row) {
    EXPECT_EQ(table.rows[row][2], answer::seconds_text(ranking.plans[row].estimate.iteration_seconds));
    if (ranking.plans[row].estimate.iteration_seconds > ranking.plans[0].estimate.iteration_seconds)
      EXPECT_THAT(table.rows[row][4],
                  testing::AllOf(testing::ContainsRegex("[+][0-9.]+ m?s|overlap by [0-9.]+ m?s less"),
                                 testing::Not(HasSubstr(" -"))))
          << "slower activities explain why it loses";
    else
      EXPECT_EQ(table.rows[row][4], "a tie: no significant difference");
  }
}

TEST(JobPage, RanksTheShownPlanIfItWasNotFound) {
  const plan::Job job = test::grpo_job();
  const planner::Ranking ranking = ranking_of(job);
  answer::SimulationAnswer simulated = simulated_plan(job, test::co_located(job, ", \"offload\": [\"optimizer\"]"));
  simulated.ranking = ranking;
  const Table table = section<Table>(job_page(simulated), "Ranked plans");
  EXPECT_EQ(table.rows.size(), ranking.plans.size() + 1);
  ASSERT_THAT(table.marked, SizeIs(1));
  EXPECT_EQ(table.rows[table.marked[0]][3], "shown");
}

TEST(JobPage, ShowsTheIdleTimeOfEachFusion) {
  const plan::Job job = ppo_job();
  plan::Plan plan = ranking_of(job).plans.front().plan;
  const auto pair = plan::train_pair(job);
  if (pair && !plan::find_training_fault(job, *pair, plan.tasks[(*pair)[0]], plan.tasks[(*pair)[1]]))
    plan.fusion.training = pair;
  if (!plan::find_threshold_fault(0.2, job, plan.tasks)) plan.fusion.threshold = 0.2;
  ASSERT_TRUE(plan.fusion.any());
  const answer::SimulationAnswer simulated = simulated_plan(job, plan);
  const Page page = job_page(simulated);
  const Table& table = section<Table>(page, "Gain from stage fusion");
  ASSERT_EQ(table.rows.size(), simulated.variants.size());
  EXPECT_EQ(table.rows.front()[0], "nothing");
  EXPECT_EQ(table.rows.front()[2], "1.00x");
  EXPECT_THAT(table.marked, testing::ElementsAre(table.rows.size() - 1));
  EXPECT_THAT(table.rows, Each(SizeIs(table.columns.size())));
  EXPECT_THAT(figure(page, "stage fusion").note, HasSubstr("without fusion"));
}

TEST(JobPage, MarksTheBestThreshold) {
  study::Sweep sweep;
  for (const std::optional<double> value :
       {std::optional<double>(), std::optional(0.05), std::optional(0.2), std::optional(0.4)}) {
    study::SweepPoint point{value, {}, study::SweepFigures{}};
    point.figures->iteration_seconds = value == 0.2 ? 8 : 10;
    point.figures->fit = predict::Fit::fits;
    sweep.points.push_back(std::move(point));
  }
  sweep.fastest = 2;
  const plan::Job job = test::grpo_job();
  answer::SimulationAnswer simulated = simulated_plan(job, test::co_located(job));
  simulated.thresholds = sweep;
  const Page page = job_page(simulated);
  const LineChart& chart = section<LineChart>(page, "Migration threshold");
  ASSERT_THAT(chart.marks, SizeIs(1));
  const LineChart::Mark& mark = chart.marks[0];
  EXPECT_EQ(chart.series[mark.series].points[mark.point], (std::pair<double, double>{20, 8}));
  EXPECT_EQ(mark.text, "best: 20%");
  EXPECT_EQ(chart.series.back().name, "no migration");
}

using base::Ticks;
using simulate::BarKind;
using testing::ElementsAre;

simulate::Trace small_trace() {
  simulate::Trace trace;
  trace.end = Ticks(10);
  trace.lanes.push_back(
      {{0, 1},
       {{Ticks(0), Ticks(4), BarKind::decode, 0, 128, Ticks(1)}, {Ticks(4), Ticks(10), BarKind::tail, 0, 0}},
       {{Ticks(0), 100}, {Ticks(4), 0}}});
  trace.lanes.push_back(
      {{2}, {{Ticks(0), Ticks(7), BarKind::decode, 0, 64}, {Ticks(7), Ticks(10), BarKind::backward, 1, 3}}, {}});
  return trace;
}

std::vector<timeline::Track> tasks() {
  return {{"actor_generate", 0, 0, timeline::Track::Kind::task}, {"critic_train", 1, 0, timeline::Track::Kind::task}};
}

TEST(IterationChart, ExplainsItsRows) {
  simulate::Trace trace = small_trace();
  EXPECT_THAT(iteration_chart(iteration_timeline(trace, tasks(), "t", true), "Timeline").note,
              testing::Not(testing::HasSubstr("links")));
  trace.host_links.push_back({{2}, {{Ticks(1), Ticks(3), BarKind::loading, 1, 0, {}}}, {}});
  const Chart chart = iteration_chart(iteration_timeline(trace, tasks(), "t", true), "Timeline");
  EXPECT_THAT(chart.note, testing::HasSubstr("The last rows are transfers over links to host memory"));
  EXPECT_EQ(chart.timeline.lanes.size(), 3U);
  EXPECT_EQ(use_breakdown(trace, tasks()).rows.size(), 3U) << "links take no time of devices";
}

Ticks sum_of(const Breakdown::Row& row) { return std::accumulate(row.amounts.begin(), row.amounts.end(), Ticks()); }

TEST(IterationBreakdown, CoversTheWholeTimeOfEachDevice) {
  const simulate::Trace trace = small_trace();
  const Breakdown breakdown = use_breakdown(trace, tasks());
  ASSERT_EQ(breakdown.rows.size(), 3U);
  EXPECT_EQ(breakdown.rows[0].name, "all 3 devices");
  EXPECT_EQ(sum_of(breakdown.rows[0]), trace.end * 3) << "a row that stands for two devices counts twice";
  for (std::size_t row = 1; row < breakdown.rows.size(); ++row) EXPECT_EQ(sum_of(breakdown.rows[row]), trace.end);
  std::vector<std::string> names;
  for (const Breakdown::Segment& segment : breakdown.segments) names.push_back(segment.name);
  EXPECT_THAT(names, ElementsAre("actor_generate decode", "critic_train backward", "long tail", "launch"));
  EXPECT_THAT(breakdown.rows[0].amounts, ElementsAre(Ticks(13), Ticks(3), Ticks(12), Ticks(2)));
}

TEST(IterationBreakdown, ShowsIdleTimeAsAShareOfTotalTime) {
  const simulate::Trace trace = small_trace();
  const Breakdown idle = idle_use_breakdown(trace, tasks());
  ASSERT_EQ(idle.rows.size(), 3U);
  EXPECT_THAT(idle.rows[0].amounts, ElementsAre(Ticks(12), Ticks(2)));
  EXPECT_EQ(idle.rows[0].full_length, Ticks(30));
  EXPECT_EQ(idle.rows[1].name, "devices 0-1") << "the idlest first";
  EXPECT_EQ(idle.rows[1].full_length, Ticks(10));
  EXPECT_EQ(sum_of(idle.rows[2]), Ticks());
}

}  // namespace

}  // namespace dovetail::report
