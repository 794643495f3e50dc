#include "fuse/pareto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <variant>

#include "fuse/constructions/constructions.h"
#include "fuse/solver.h"
#include "pipeline/problem/instances.h"
#include "pipeline/schedule/validate.h"
#include "support/brute_force.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Problem;

SolveOptions brief() {
  SolveOptions options;
  options.iterations = 200;
  options.chains = 2;
  return options;
}

bool as_good(const pipeline::Evaluation& a, const pipeline::Evaluation& b) {
  return a.makespan <= b.makespan && a.peak_activation <= b.peak_activation;
}

bool is_covered(const std::vector<Solution>& front, const pipeline::Evaluation& other) {
  return std::any_of(front.begin(), front.end(),
                     [&](const Solution& solution) { return as_good(solution.evaluation, other); });
}

test::RandomProblemOptions small_problems() {
  test::RandomProblemOptions options;
  options.max_ops = 24;
  return options;
}

std::vector<std::pair<std::int64_t, std::int64_t>> costs_of(const std::vector<Solution>& front) {
  std::vector<std::pair<std::int64_t, std::int64_t>> costs;
  for (const Solution& solution : front)
    costs.emplace_back(solution.evaluation.makespan.count(), solution.evaluation.peak_activation.count());
  return costs;
}

RC_GTEST_PROP(Pareto, IsAFrontOfValidSchedulesThatNoConstructionBeats, ()) {
  const Problem problem = *test::problems(small_problems());
  const std::vector<Solution> front = solve_pareto(problem, brief());
  RC_ASSERT(!front.empty());
  const Bounds bounds = bounds_of(problem);
  for (std::size_t i = 0; i < front.size(); ++i) {
    RC_ASSERT(!pipeline::validate(to_schedule(front[i], bounds)).has_value());
    if (i == 0) continue;
    RC_ASSERT(front[i - 1].evaluation.makespan < front[i].evaluation.makespan);
    RC_ASSERT(front[i - 1].evaluation.peak_activation > front[i].evaluation.peak_activation);
  }
  // Running one micro-batch at a time has the minimum peak.
  RC_ASSERT(front.back().evaluation.peak_activation == bounds.peak_activation);
  for (const Solver& solver : solvers()) {
    const Answer answer = solver.searches ? Answer(NotApplicable{""}) : solver.solve(problem, SolveOptions{});
    const auto* construction = std::get_if<Solution>(&answer);
    if (construction && !construction->other_layout) RC_ASSERT(is_covered(front, construction->evaluation));
  }
}

RC_GTEST_PROP(Pareto, MakespanBoundsHold, ()) {
  test::RandomProblemOptions tiny;
  tiny.max_ops = 12;
  const Problem problem = *test::problems(tiny);
  const Bounds bounds = bounds_of(problem);
  const pipeline::OpGraph graph = pipeline::lower(problem, pipeline::BackwardForm::split).graph;
  const auto optimum = test::brute_force(graph);
  RC_PRE(optimum.has_value());
  for (const Solution& solution : solve_pareto(problem, brief())) {
    const pipeline::Evaluation& evaluation = solution.evaluation;
    const PointBounds proven = point_bounds(solution, bounds, {.work = 100'000});
    const Ticks bound = proven.makespan;
    RC_ASSERT(proven.peak <= evaluation.peak_activation);
    const auto least = test::brute_force_peak(graph, evaluation.makespan);
    if (least) RC_ASSERT(proven.peak <= *least);
    RC_ASSERT(bounds.makespan <= bound);
    RC_ASSERT(bound <= evaluation.makespan);
    // Every schedule that ends earlier has a larger peak.
    const Ticks before = bound - Ticks(1);
    if (before < optimum->makespan) continue;
    const auto peak = test::brute_force_peak(graph, before);
    if (peak) RC_ASSERT(*peak > evaluation.peak_activation);
  }
}

RC_GTEST_PROP(Pareto, PeakBoundCurveNeverExceedsTheBound, ()) {
  const Problem problem = *test::problems(small_problems());
  const int resolution = *rc::gen::element(1, 7, 100'000);
  const Ticks from = bounds_of(problem).makespan;
  const Ticks to = from + Ticks(60);
  const std::vector<PeakBoundStep> curve = peak_bound_curve(problem, from, to, resolution);
  RC_ASSERT(curve.front().makespan == from);
  for (std::size_t i = 1; i < curve.size(); ++i) {
    RC_ASSERT(curve[i - 1].makespan < curve[i].makespan);
    RC_ASSERT(curve[i - 1].peak > curve[i].peak);
  }
  std::size_t step = 0;
  for (Ticks makespan = from; makespan <= to; makespan += Ticks(1)) {
    while (step + 1 < curve.size() && curve[step + 1].makespan <= makespan) ++step;
    const Memory exact = peak_activation_bound(problem, makespan, {.work = 0});
    RC_ASSERT(curve[step].peak <= exact);
    if (resolution == 100'000) RC_ASSERT(curve[step].peak == exact);
  }
}

TEST(Pareto, RaisesCurveUpToADeadline) {
  const auto raised = [](std::int64_t deadline, std::int64_t peak) {
    std::vector<PeakBoundStep> curve{{Ticks(10), Memory(9)}, {Ticks(20), Memory(5)}, {Ticks(30), Memory(2)}};
    raise_curve(curve, Ticks(deadline), Memory(peak));
    std::vector<std::pair<std::int64_t, std::int64_t>> steps;
    for (const PeakBoundStep& step : curve) steps.emplace_back(step.makespan.count(), step.peak.count());
    return steps;
  };
  using Steps = std::vector<std::pair<std::int64_t, std::int64_t>>;
  const Steps as_it_was{{10, 9}, {20, 5}, {30, 2}};
  EXPECT_EQ(raised(9, 100), as_it_was);  // no schedule ends by then anyway
  EXPECT_EQ(raised(19, 9), as_it_was);
  EXPECT_EQ(raised(15, 12), (Steps{{10, 12}, {16, 9}, {20, 5}, {30, 2}}));
  EXPECT_EQ(raised(19, 12), (Steps{{10, 12}, {20, 5}, {30, 2}}));
  EXPECT_EQ(raised(25, 7), (Steps{{10, 9}, {20, 7}, {26, 5}, {30, 2}}));
  EXPECT_EQ(raised(25, 9), (Steps{{10, 9}, {26, 5}, {30, 2}}));
  EXPECT_EQ(raised(40, 3), (Steps{{10, 9}, {20, 5}, {30, 3}, {41, 2}}));
  EXPECT_EQ(raised(40, 20), (Steps{{10, 20}, {41, 2}}));
}

RC_GTEST_PROP(Pareto, IsIndependentOfThreadsAndRecordsHowToRepeatIt, ()) {
  const Problem problem = *test::problems(small_problems());
  SolveOptions options = brief();
  const std::vector<Solution> first = solve_pareto(problem, options);
  options.threads = 3;
  RC_ASSERT(costs_of(solve_pareto(problem, options)) == costs_of(first));
  for (const Solution& solution : first) {
    const bool searched = solution.solver.seed.has_value();
    const bool named = solution.solver.name == "pareto" && solution.solver.iterations == options.iterations;
    RC_ASSERT(searched == named);
  }
}

RC_GTEST_PROP(Pareto, IsNeverWorseThanItsStart, ()) {
  const Problem problem = *test::problems(small_problems());
  const Answer answer = solve_fused_1f1b(problem, SolveOptions{});
  const auto* start = std::get_if<Solution>(&answer);
  RC_PRE(start != nullptr);
  SolveOptions options = brief();
  options.start = start;
  RC_ASSERT(is_covered(solve_pareto(problem, options), start->evaluation));
}

RC_GTEST_PROP(Pareto, KeepsTheCapacity, ()) {
  test::RandomProblemOptions limited = small_problems();
  limited.capacity = true;
  const Problem problem = *test::problems(limited);
  const std::vector<Solution> front = solve_pareto(problem, brief());
  const bool possible = find_impossible(problem, std::nullopt).empty();
  for (const Solution& solution : front)
    RC_ASSERT(pipeline::find_excess(problem, solution.evaluation, std::nullopt).empty() == possible);
  if (!possible) RC_ASSERT(front.size() == 1U);
}

TEST(Pareto, ReportsEachNewScheduleAndProgress) {
  const Problem problem =
      test::problem_of(3, {test::chain_model("a", {0, 1, 2}, 6, 2, 3), test::chain_model("b", {2, 1, 0}, 5, 1, 2)});
  SolveOptions options = brief();
  std::vector<Solution> joined;
  options.on_better = [&](const Solution& solution) { joined.push_back(solution); };
  std::int64_t last = 0;
  options.on_progress = [&](const Progress& progress) {
    EXPECT_GE(progress.iterations, last);
    last = progress.iterations;
    EXPECT_EQ(progress.iterations_planned, *options.iterations);
  };
  const std::vector<Solution> front = solve_pareto(problem, options);
  EXPECT_GT(front.size(), 2U);
  for (const Solution& solution : front) EXPECT_TRUE(is_covered(joined, solution.evaluation));
}

TEST(Pareto, ReportsNoMoreTimeLeftThanItsLimit) {
  SolveOptions options;
  options.iterations = 1'000'000'000'000;
  options.time_limit_seconds = 0.5;
  int reports = 0;
  options.on_progress = [&](const Progress& progress) {
    ++reports;
    EXPECT_LE(progress.seconds_left, 0.5);
  };
  solve_pareto(pipeline::find_instance("exp9")->problem, options);
  EXPECT_GT(reports, 0);
}

TEST(Pareto, HasOnePointIfBothBoundsAreMet) {
  // One device and one micro-batch: only one schedule exists.
  const Problem problem = test::problem_of(1, {test::chain_model("only", {0}, 1, 2, 3)});
  const std::vector<Solution> front = solve_pareto(problem, brief());
  ASSERT_EQ(front.size(), 1U);
  EXPECT_EQ(front[0].evaluation.makespan, Ticks(5));
  EXPECT_EQ(front[0].evaluation.peak_activation, Memory(1'000'000));
}

TEST(Pareto, LargeProblemHasAScheduleDespiteShortTimeLimit) {
  SolveOptions options;
  options.time_limit_seconds = 1e-6;
  const Problem& problem = pipeline::find_instance("scale64")->problem;
  const std::vector<Solution> front = solve_pareto(problem, options);
  ASSERT_EQ(front.size(), 1U) << "the other constructions were not made";
  EXPECT_EQ(pipeline::find_excess(problem, front.front().evaluation, std::nullopt).size(), 0U);
}

TEST(Pareto, StopsOnRequest) {
  parallel::Cancellation cancellation;
  cancellation.request();
  SolveOptions options;
  options.cancellation = &cancellation;
  const std::vector<Solution> front = solve_pareto(pipeline::find_instance("exp9")->problem, options);
  ASSERT_FALSE(front.empty());
  EXPECT_EQ(front.front().stopped_by, pipeline::StoppedBy::interrupt);
}

}  // namespace
}  // namespace dovetail::fuse
