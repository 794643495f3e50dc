// Properties of every solver on every problem.
#include "fuse/solver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "fuse/annealing/annealing.h"
#include "fuse/constructions/constructions.h"
#include "pipeline/problem/instances.h"
#include "pipeline/schedule/validate.h"
#include "support/brute_force.h"
#include "support/effort.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Problem;

SolveOptions brief() {
  SolveOptions options;
  options.chains = 2;
  options.iterations = 60;
  return options;
}

TEST(Solvers, HaveUniqueNamesAndOneBaseline) {
  std::set<std::string_view> names;
  int baselines = 0;
  for (const Solver& solver : solvers()) {
    EXPECT_TRUE(names.insert(solver.name).second) << solver.name;
    EXPECT_FALSE(solver.summary.empty());
    EXPECT_EQ(find_solver(solver.name), &solver);
    baselines += solver.is_baseline ? 1 : 0;
  }
  EXPECT_EQ(baselines, 1);
  EXPECT_EQ(find_solver("no such"), nullptr);
}

RC_GTEST_PROP(Solvers, EveryScheduleIsValidAndNoneBeatsTheBounds, ()) {
  const Problem problem = *test::problems();
  for (const Solver& solver : solvers()) {
    Answer answer = solver.solve(problem, brief());
    auto* solution = std::get_if<Solution>(&answer);
    if (!solution) {
      RC_ASSERT(!std::get<NotApplicable>(answer).why.empty());
      continue;
    }
    const Bounds bounds = bounds_of(solution->problem);
    pipeline::Schedule schedule = to_schedule(*solution, bounds);
    schedule.problem.capacity.reset();
    const auto violation = pipeline::validate(schedule);
    if (violation) RC_FAIL(std::string(solver.name) + ": " + violation->message);
    RC_ASSERT(solution->evaluation.makespan >= bounds.makespan);
    RC_ASSERT(solution->evaluation.peak_activation >= *schedule.claims.bound_peak_activation);
    RC_ASSERT(solution->other_layout.has_value() || solution->problem == problem);
  }
}

RC_GTEST_PROP(Solvers, AutoIsNeverWorseThanAnyConstruction, ()) {
  const Problem problem = *test::problems();
  const Answer answer = find_solver("auto")->solve(problem, brief());
  const auto& best = std::get<Solution>(answer);
  for (const Solver& solver : solvers()) {
    if (solver.searches) continue;
    const Answer other = solver.solve(problem, brief());
    const auto* solution = std::get_if<Solution>(&other);
    if (solution && !solution->other_layout) RC_ASSERT(!is_better(*solution, best, SolveOptions{}));
  }
}

RC_GTEST_PROP(Solvers, TimeReversalKeepsMakespanAndPeak, ()) {
  // Holds if no model splits its backward or has optimizer steps (design: pipeline problems and schedules).
  test::RandomProblemOptions plain;
  plain.split = false;
  plain.steps = false;
  plain.max_minibatches = 1;
  const Problem problem = *test::problems(plain);
  Problem reversed = problem;
  for (pipeline::Model& model : reversed.models) {
    std::swap(model.forward, model.backward);
    std::swap(model.transfer_forward, model.transfer_backward);
  }
  const Answer answer = solve_fused_1f1b(problem, {});
  const auto& solution = std::get<Solution>(answer);
  const Ticks makespan = solution.evaluation.makespan;
  pipeline::Schedule mirrored = pipeline::to_schedule(problem, solution.graph, solution.evaluation);
  mirrored.problem = reversed;
  mirrored.problem.capacity.reset();
  for (auto& device : mirrored.devices)
    for (pipeline::ScheduledOp& op : device) {
      op.label.kind = op.label.kind == pipeline::OpKind::F ? pipeline::OpKind::B : pipeline::OpKind::F;
      const Ticks start = op.start;
      op.start = makespan - op.end;
      op.end = makespan - start;
    }
  const auto violation = pipeline::validate(mirrored);
  if (violation) RC_FAIL(violation->message);
}

RC_GTEST_PROP(Solvers, NoneBeatsTheExhaustiveSearch, ()) {
  test::RandomProblemOptions tiny;
  tiny.max_models = 2;
  tiny.max_stages = 2;
  tiny.max_microbatches = 2;
  tiny.max_devices = 2;
  tiny.max_minibatches = 1;
  tiny.max_ops = 12;
  const Problem problem = *test::problems(tiny);
  const auto optimum = test::brute_force(pipeline::lower(problem, pipeline::BackwardForm::split).graph);
  RC_PRE(optimum.has_value());
  for (const Solver& solver : solvers()) {
    const Answer answer = solver.solve(problem, brief());
    const auto* solution = std::get_if<Solution>(&answer);
    if (!solution || solution->other_layout) continue;
    RC_ASSERT(solution->evaluation.makespan >= optimum->makespan);
    RC_ASSERT(solution->evaluation.peak_activation >= optimum->min_peak);
  }
}

TEST(Solvers, CapacityComesBeforeMakespan) {
  const Problem& problem = pipeline::find_instance("exp2")->problem;
  SolveOptions options = brief();
  options.memory_cap = bounds_of(problem).peak_activation;
  // Running all of "auto" takes half a minute under the sanitizers.
  const Answer answer = find_solver(test::sanitized ? "search" : "auto")->solve(problem, options);
  const auto& solution = std::get<Solution>(answer);
  EXPECT_TRUE(pipeline::find_excess(problem, solution.evaluation, options.memory_cap).empty());
}

TEST(Solvers, WideProblemsStaySmall) {
  // Barriers and tables quadratic in the number of devices would not fit in memory.
  const int stages = test::effort(12'000);
  std::vector<int> devices(static_cast<std::size_t>(stages));
  std::iota(devices.begin(), devices.end(), 0);
  Problem problem =
      test::problem_of(stages, {test::chain_model("a", devices, 1, 1, 2), test::chain_model("b", devices, 1, 1, 2)});
  EXPECT_EQ(std::get<Solution>(solve_1f1b(problem, {})).evaluation.makespan, Ticks(2 * 3 * stages));
  problem.models.pop_back();
  problem.models[0] = test::chain_model("a", {0}, 2, 1, 2);
  for (int replica = 1; replica < test::effort(8'000); ++replica)
    problem.models[0].replicas.push_back({base::DeviceId(replica)});
  SolveOptions options = brief();
  options.iterations = 2;
  EXPECT_EQ(std::get<Solution>(solve_annealing(problem, options)).evaluation.makespan, Ticks(6));
}

TEST(Solvers, ManyMicrobatchesAtAClosedGateAreFast) {
  Problem problem = test::problem_of(2, {test::chain_model("a", {0, 1}, 50'000, 1, 1)});
  problem.models[0].forward[1] = Ticks(3);
  problem.models[0].backward[1] = Ticks(5);
  EXPECT_EQ(std::get<Solution>(solve_fused_1f1b(problem, {})).evaluation.makespan, Ticks(50'000 * 8 + 2));
}

TEST(Solvers, LargeProblemsHaveAConstructionDespiteShortTimeLimit) {
  const Problem& problem = pipeline::find_instance("scale64")->problem;
  SolveOptions options;
  const Solution first = std::get<Solution>(solve_one_at_a_time(problem, options));
  options.time_limit_seconds = 1e-6;
  for (const char* name : {"auto", "search"}) {
    const Solution found = std::get<Solution>(find_solver(name)->solve(problem, options));
    EXPECT_EQ(found.evaluation.makespan, first.evaluation.makespan) << name << ": the others were not made";
    EXPECT_EQ(found.stopped_by, pipeline::StoppedBy::time) << name;
  }
}

TEST(Annealing, ALongRunStopsAtItsTimeLimit) {
  SolveOptions options;
  options.iterations = 1'000'000'000'000;
  options.time_limit_seconds = 0.05;
  options.on_progress = [](const Progress& progress) { EXPECT_LE(progress.seconds_left, 0.05); };
  const Answer answer = solve_annealing(pipeline::find_instance("exp9")->problem, options);
  EXPECT_EQ(std::get<Solution>(answer).stopped_by, pipeline::StoppedBy::time);
}

TEST(Annealing, IsIndependentOfThreads) {
  const Problem& problem = pipeline::find_instance("exp2")->problem;
  SolveOptions options;
  options.chains = 3;
  options.iterations = 4000;
  const Answer one = solve_annealing(problem, options);
  options.threads = 3;
  const Answer three = solve_annealing(problem, options);
  EXPECT_EQ(std::get<Solution>(one).evaluation.start, std::get<Solution>(three).evaluation.start);
  options.seed = 2;
  const Answer other = solve_annealing(problem, options);
  EXPECT_NE(std::get<Solution>(one).evaluation.start, std::get<Solution>(other).evaluation.start);
}

TEST(Annealing, ImprovesOnGreedy) {
  const Problem& problem = pipeline::find_instance("exp5")->problem;
  SolveOptions options;
  options.iterations = 20'000;
  const Answer answer = solve_annealing(problem, options);
  const auto& solution = std::get<Solution>(answer);
  EXPECT_EQ(solution.evaluation.makespan, Ticks(225));
  EXPECT_LT(solution.evaluation.peak_activation, Memory(23'600'000));
  EXPECT_EQ(solution.solver.iterations, 20'000);
  EXPECT_EQ(solution.solver.chains, 4);
}

TEST(Annealing, PublishedIterationCounts) {
  // ln(stop / start) / ln(cooling), computed from the repository's parameters.
  EXPECT_NEAR(static_cast<double>(published_parameters(pipeline::find_instance("exp0")->problem)->latency.iterations),
              5.99e6, 0.01e6);
  EXPECT_NEAR(static_cast<double>(published_parameters(pipeline::find_instance("exp6")->problem)->latency.iterations),
              14.05e6, 0.01e6);
  EXPECT_EQ(published_parameters(pipeline::find_instance("exp2")->problem)->latency.iterations, 0);
  EXPECT_FALSE(published_parameters(pipeline::find_instance("scale64")->problem).has_value());
}

TEST(Annealing, FittedCoolingsTakeTheRequestedIterations) {
  const Problem& problem = pipeline::find_instance("exp0")->problem;
  for (const std::int64_t iterations : {10, 1000, 123'456}) {
    const AnnealingParameters parameters = fitted_parameters(problem, iterations);
    EXPECT_EQ(parameters.latency.iterations + parameters.memory.iterations, iterations);
    // The temperature falls to a ten-thousandth.
    EXPECT_NEAR(std::log(parameters.latency.cooling) * static_cast<double>(parameters.latency.iterations),
                std::log(1e-4), 1e-6);
  }
}

TEST(Annealing, ExplainsInapplicability) {
  Problem problem = pipeline::find_instance("exp2")->problem;
  problem.models[0].transfer_forward[0] = Ticks(1);
  const Answer answer = solve_annealing(problem, {});
  EXPECT_THAT(std::get<NotApplicable>(answer).why, testing::HasSubstr("has transfer delays"));
}

TEST(Annealing, StopsOnRequest) {
  parallel::Cancellation cancellation;
  cancellation.request();
  SolveOptions options;
  options.cancellation = &cancellation;
  const Answer answer = solve_annealing(pipeline::find_instance("exp9")->problem, options);
  EXPECT_EQ(std::get<Solution>(answer).stopped_by, pipeline::StoppedBy::interrupt);
}

}  // namespace
}  // namespace dovetail::fuse
