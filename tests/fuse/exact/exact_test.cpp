#include "fuse/exact/exact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "fuse/constructions/constructions.h"
#include "pipeline/schedule/validate.h"
#include "support/brute_force.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"
#include "support/why_not.h"

namespace dovetail::fuse {
namespace {

using base::DeviceId;
using base::Memory;
using base::Ticks;
using pipeline::Model;
using pipeline::Problem;
using test::chain_model;
using test::problem_of;

/// A chain model that holds `activation` millionths for each micro-batch.
Model model_of(std::string name, const std::vector<int>& devices, int microbatches, std::int64_t forward,
               std::int64_t backward, std::int64_t activation = 1'000'000) {
  Model model = chain_model(std::move(name), devices, microbatches, forward, backward);
  for (Memory& held : model.activation) held = Memory(activation);
  return model;
}

SolveOptions memory_first() {
  SolveOptions options;
  options.objective = Objective::memory;
  return options;
}

SolveOptions until(Ticks deadline) {
  SolveOptions options;
  options.deadline = deadline;
  return options;
}

/// Checks that both objectives are proven, with matching bounds, by a schedule that the validator accepts. Returns its
/// makespan and peak.
std::pair<std::int64_t, std::int64_t> proven(const Problem& problem, const SolveOptions& options = {},
                                             const ExactLimits& limits = {}) {
  const ExactResult result = solve_exactly(problem, options, limits);
  EXPECT_TRUE(result.makespan_proven && result.peak_proven);
  EXPECT_FALSE(result.interrupted);
  EXPECT_LE(result.nodes, limits.nodes);
  const pipeline::Evaluation& evaluation = result.solution->evaluation;
  EXPECT_EQ(result.makespan_bound, evaluation.makespan);
  EXPECT_EQ(result.peak_bound, evaluation.peak_activation);
  EXPECT_EQ(result.solution->stopped_by, pipeline::StoppedBy::bound);
  EXPECT_EQ(result.solution->solver.iterations, result.nodes);
  EXPECT_EQ(result.solution->proven_peak, evaluation.peak_activation);
  EXPECT_LE(result.solution->proven_makespan, evaluation.makespan);
  Problem unlimited = problem;  // a schedule that must exceed the capacity still has to be valid otherwise
  unlimited.capacity.reset();
  EXPECT_FALSE(pipeline::validate(pipeline::to_schedule(unlimited, result.solution->graph, evaluation)));
  return {evaluation.makespan.count(), evaluation.peak_activation.count()};
}

using Costs = std::pair<std::int64_t, std::int64_t>;

TEST(Exact, SolvesOnePipeline) {
  const Problem problem = problem_of(3, {model_of("a", {0, 1, 2}, 3, 1, 2)});
  EXPECT_EQ(proven(problem), Costs(15, 3'000'000));
  EXPECT_EQ(proven(problem, memory_first()), Costs(27, 1'000'000)) << "three micro-batches, one after the other";
  EXPECT_EQ(proven(problem, until(Ticks(18))), Costs(18, 2'000'000));
}

TEST(Exact, FindsChimerasMakespans) {
  const auto chimera = [](int microbatches, std::int64_t backward) {
    return problem_of(4, {model_of("down", {0, 1, 2, 3}, microbatches, 1, backward),
                          model_of("up", {3, 2, 1, 0}, microbatches, 1, backward)});
  };
  // Two micro-batches each: 2N + D - 2 slots of equal length for N = D = 4.
  EXPECT_EQ(proven(chimera(2, 1)).first, 10);
  EXPECT_EQ(proven(chimera(2, 2)).first, 16);
}

TEST(Exact, FourStagesFourMicrobatchesTwoModels) {
  const ExactLimits limits{.nodes = 100'000, .memory_bytes = std::size_t{64} << 20};
  const Model large = model_of("large", {0, 1, 2, 3}, 4, 2, 4, 1'950'000);
  const Problem opposite = problem_of(4, {large, model_of("small", {3, 2, 1, 0}, 4, 1, 2)});
  // Serial 1F1B holds four micro-batches of the large model, 7.8. Filling its bubbles without losing time takes
  // slightly more: two large and four small ones.
  EXPECT_EQ(proven(opposite, {}, limits), Costs(42, 7'900'000));
  EXPECT_EQ(proven(opposite, memory_first(), limits), Costs(111, 1'950'000));
  const Problem same = problem_of(4, {large, model_of("small", {0, 1, 2, 3}, 4, 1, 2)});
  EXPECT_EQ(proven(same, memory_first(), limits), Costs(144, 1'950'000));
}

TEST(Exact, CanBeBelowTheSerialPeak) {
  const Problem problem =
      problem_of(4, {model_of("a", {0, 1, 2, 3}, 4, 1, 2, 2'000'000), model_of("b", {3, 2, 1, 0}, 4, 1, 2, 500'000)});
  EXPECT_EQ(std::get<Solution>(solve_1f1b(problem, {})).evaluation.peak_activation, Memory(8'000'000));
  EXPECT_EQ(proven(problem), Costs(27, 6'500'000));
}

TEST(Exact, KeepsReplicasOfDifferentDepths) {
  Model shallow = model_of("shallow", {0, 1}, 4, 2, 3);
  shallow.replicas.push_back({DeviceId(2), DeviceId(3)});
  const Problem problem = problem_of(4, {model_of("deep", {0, 1, 2, 3}, 4, 2, 4, 1'640'000), shallow});
  const auto [makespan, peak] = proven(problem);
  EXPECT_EQ(makespan, bounds_of(problem).makespan.count());
  EXPECT_EQ(proven(problem, memory_first()).second, 1'640'000);
  EXPECT_EQ(proven(problem, until(Ticks(makespan))), Costs(makespan, peak));
}

/// Returns the minimum makespan with a peak of at most `peak`, by trying every schedule for every deadline.
std::int64_t min_makespan_with(const pipeline::OpGraph& graph, Ticks from, Memory peak) {
  while (*test::brute_force_peak(graph, from) > peak) from += Ticks(1);
  return from.count();
}

/// Checks every objective of `problem` against the exhaustive search. Returns false if that gives up.
bool check_against_brute_force(const Problem& problem, std::int64_t max_steps = 20'000) {
  const pipeline::OpGraph graph = pipeline::lower(problem, pipeline::BackwardForm::split).graph;
  const auto optimum = test::brute_force(graph, {.max_steps = max_steps});
  if (!optimum) return false;
  EXPECT_EQ(proven(problem), Costs(optimum->makespan.count(), optimum->peak_at_makespan.count()));
  EXPECT_EQ(solve_exactly(problem, {}).solution->proven_makespan, optimum->makespan);
  EXPECT_LE(solve_exactly(problem, memory_first()).solution->proven_makespan, optimum->makespan) << "whatever the peak";
  EXPECT_LE(solve_exactly(problem, until(optimum->makespan + Ticks(9))).solution->proven_makespan, optimum->makespan);
  const auto least = min_makespan_with(graph, optimum->makespan, optimum->min_peak);
  EXPECT_EQ(proven(problem, memory_first()), Costs(least, optimum->min_peak.count()));
  for (const int slack : {-1, 0, 1, 4}) {
    const Ticks deadline = std::max(optimum->makespan, optimum->makespan + Ticks(slack));
    const Memory peak = *test::brute_force_peak(graph, deadline);
    const auto makespan = slack > 0 ? min_makespan_with(graph, optimum->makespan, peak) : optimum->makespan.count();
    EXPECT_EQ(proven(problem, until(optimum->makespan + Ticks(slack))), Costs(makespan, peak.count()))
        << "slack " << slack;
  }
  return true;
}

/// Returns how many of the seeds were compared.
int compare_with_brute_force(std::uint64_t seeds, const test::RandomProblemOptions& options) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    compared += check_against_brute_force(test::random_problem(seed, options)) ? 1 : 0;
  }
  return compared;
}

TEST(ExactOracle, AgreesOnProblemsOfEveryKind) {
  test::RandomProblemOptions options;
  options.max_ops = 14;
  EXPECT_GT(compare_with_brute_force(200, options), 170);
}

TEST(ExactOracle, AgreesOnMinibatchesWithManyReplicas) {
  test::RandomProblemOptions options;
  options.max_models = 2;
  options.max_stages = 3;
  options.max_microbatches = 2;
  options.max_replicas = 3;
  options.split = options.shared_devices = false;
  options.max_ops = 18;
  EXPECT_GT(compare_with_brute_force(100, options), 70);
}

TEST(ExactOracle, AgreesOnAllWaitsOfSteps) {
  // Includes optimizer steps of zero duration: a forward that waits for one on another device starts at the same
  // moment.
  test::RandomProblemOptions options;
  options.max_models = 2;
  options.max_stages = 2;
  options.max_microbatches = 2;
  options.max_replicas = 3;
  options.max_ops = 18;
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 40 && !HasFailure(); ++seed)
    for (const auto after : {pipeline::StepAfter::stage, pipeline::StepAfter::model})
      for (const auto before : {pipeline::StepBefore::own, pipeline::StepBefore::replicas}) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Problem problem = test::random_problem(seed, options);
        for (pipeline::Model& model : problem.models) {
          model.minibatches = 2;
          model.step_after = after;
          model.step_before = before;
        }
        if (test::count_split_ops(problem) <= 24) compared += check_against_brute_force(problem, 200'000) ? 1 : 0;
      }
  EXPECT_GT(compared, 60);
}

TEST(ExactOracle, AgreesOnStagesThatShareDevices) {
  test::RandomProblemOptions options;
  options.max_models = 2;
  options.max_devices = 2;
  options.max_replicas = 1;
  options.steps = false;
  options.max_ops = 16;
  EXPECT_GT(compare_with_brute_force(100, options), 55);
}

TEST(ExactOracle, AgreesOnEqualPipelines) {
  // One of two equal pipelines runs all its micro-batches before the other's. The exhaustive search does not use this
  // symmetry.
  for (const int forward : {1, 2, 3})
    for (const int backward : {1, 2}) {
      Model model = model_of("a", {0, 1}, 2, forward, backward);
      model.transfer_forward = {Ticks(1)};
      Model other = model;
      other.name = "b";
      other.microbatches = 1;
      const Model third = model_of("c", {1, 0}, 1, 2, 1, 1'500'000);
      EXPECT_TRUE(check_against_brute_force(problem_of(2, {model, other}), 2'000'000));
      EXPECT_TRUE(check_against_brute_force(problem_of(2, {other, third, model}), 2'000'000));
      model.weight_gradient.assign(2, Ticks(2));
      other.weight_gradient = model.weight_gradient;
      model.weight_activation.assign(2, Memory(400'000));
      other.weight_activation = model.weight_activation;
      EXPECT_TRUE(check_against_brute_force(problem_of(2, {model, other}), 2'000'000));
    }
}

/// Returns `problem` with device d's memory in units of cap[d] / unit, so that a single cap of `unit` represents all.
/// One replica per model.
Problem with_equal_caps(Problem problem, const std::vector<std::int64_t>& cap, std::int64_t unit) {
  for (Model& model : problem.models)
    for (std::size_t stage = 0; stage < model.activation.size(); ++stage) {
      const std::int64_t factor = unit / cap[model.replicas[0][stage].index()];
      model.activation[stage] = model.activation[stage] * factor;
      if (model.split()) model.weight_activation[stage] = model.weight_activation[stage] * factor;
    }
  return problem;
}

TEST(ExactOracle, AgreesWithCapacitiesThatDiffer) {
  test::RandomProblemOptions options;
  options.max_ops = 14;
  options.max_replicas = 1;
  int compared = 0;
  int longer = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Problem problem = test::random_problem(seed, options);
    problem.capacity.emplace();
    std::vector<std::int64_t> cap;
    std::int64_t unit = 1;
    for (std::size_t device = 0; device < problem.resident.size(); ++device) {
      cap.push_back(static_cast<std::int64_t>(1 + (seed + device * 3) % 10) * 1'000'000);
      unit = std::lcm(unit, cap.back());
      problem.capacity->push_back(problem.resident[device] + Memory(cap.back()));
    }
    if (!find_impossible(problem, {}).empty()) continue;
    const auto graph = pipeline::lower(with_equal_caps(problem, cap, unit), pipeline::BackwardForm::split).graph;
    const auto unlimited = test::brute_force(graph, {.max_steps = 20'000});
    if (!unlimited) continue;
    const std::int64_t least = min_makespan_with(graph, unlimited->makespan, Memory(unit));
    ASSERT_EQ(proven(problem).first, least) << "seed " << seed;
    ++compared;
    longer += least > unlimited->makespan.count() ? 1 : 0;
  }
  EXPECT_GT(compared, 400);
  EXPECT_GT(longer, 40);
}

TEST(ExactOracle, AgreesWithOneCapForAllDevices) {
  test::RandomProblemOptions options;
  options.max_ops = 14;
  options.resident = false;
  int longer = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Problem problem = test::random_problem(seed, options);
    const auto graph = pipeline::lower(problem, pipeline::BackwardForm::split).graph;
    const auto optimum = test::brute_force(graph, {.max_steps = 20'000});
    if (!optimum || optimum->min_peak == optimum->peak_at_makespan) continue;
    SolveOptions capped;
    capped.memory_cap = Memory((optimum->min_peak.count() + optimum->peak_at_makespan.count()) / 2);
    const std::int64_t least = min_makespan_with(graph, optimum->makespan, *capped.memory_cap);
    const Costs expected(least, test::brute_force_peak(graph, Ticks(least))->count());
    ASSERT_EQ(proven(problem, capped), expected) << "seed " << seed;
    ++longer;
  }
  EXPECT_GT(longer, 30);
}

TEST(Exact, ExceedsAnImpossibleCapacityMinimally) {
  Problem problem = problem_of(2, {model_of("a", {0, 1}, 3, 1, 1)});
  problem.capacity = {Memory(400'000), Memory(5'000'000)};
  const ExactResult result = solve_exactly(problem, {});
  ASSERT_TRUE(result.makespan_proven && result.peak_proven);
  EXPECT_EQ(result.solution->evaluation.devices[0].peak, Memory(1'000'000));
  EXPECT_EQ(result.solution->evaluation.makespan, Ticks(12));
}

TEST(Exact, ReportsUnprovenResults) {
  const Problem problem =
      problem_of(4, {model_of("a", {0, 1, 2, 3}, 4, 2, 4, 1'950'000), model_of("b", {3, 2, 1, 0}, 4, 1, 2)});
  for (const std::int64_t nodes : {0, 1, 100, 400, 2000}) {
    const ExactResult result = solve_exactly(problem, {}, {.nodes = nodes});
    EXPECT_LE(result.nodes, nodes);
    EXPECT_FALSE(result.makespan_proven && result.peak_proven) << nodes;
    EXPECT_EQ(result.solution->stopped_by, pipeline::StoppedBy::iterations);
    EXPECT_LE(result.makespan_bound, Ticks(42));
    if (result.solution->evaluation.makespan == Ticks(42)) {
      EXPECT_LE(result.peak_bound, Memory(7'900'000));
      EXPECT_GE(result.solution->evaluation.peak_activation, Memory(7'900'000));
    }
  }
}

TEST(Exact, IsCorrectWithoutMemory) {
  const Problem problem = problem_of(2, {model_of("a", {0, 1}, 3, 1, 2), model_of("b", {1, 0}, 2, 1, 1)});
  const Costs with = proven(problem);
  EXPECT_EQ(proven(problem, {}, {.memory_bytes = 0}), with);
}

TEST(Exact, IsDeterministic) {
  const Problem problem =
      problem_of(4, {model_of("a", {0, 1, 2, 3}, 4, 2, 4, 1'950'000), model_of("b", {3, 2, 1, 0}, 4, 1, 2)});
  const ExactResult first = solve_exactly(problem, {});
  const ExactResult second = solve_exactly(problem, {});
  EXPECT_EQ(first.solution->order.devices, second.solution->order.devices);
  EXPECT_EQ(first.nodes, second.nodes);
}

TEST(Exact, ContinuesFromAStart) {
  const Problem problem =
      problem_of(4, {model_of("a", {0, 1, 2, 3}, 4, 2, 4, 1'950'000), model_of("b", {3, 2, 1, 0}, 4, 1, 2)});
  const ExactResult best = solve_exactly(problem, {});
  SolveOptions options;
  options.start = &*best.solution;
  int reports = 0;
  options.on_better = [&](const Solution& solution) {
    ++reports;
    EXPECT_EQ(solution.evaluation.makespan, Ticks(42));
  };
  const ExactResult again = solve_exactly(problem, options);
  EXPECT_EQ(again.solution->order.devices, best.solution->order.devices);
  EXPECT_LT(again.nodes, best.nodes);
  EXPECT_EQ(reports, 1);
}

/// Two models in the same direction. Their optimum is far above every bound, so the search is long.
Problem long_search() {
  return problem_of(
      6, {model_of("a", {0, 1, 2, 3, 4, 5}, 6, 2, 4, 1'950'000), model_of("b", {0, 1, 2, 3, 4, 5}, 6, 1, 2)});
}

TEST(Exact, StopsWhenCancelled) {
  parallel::Cancellation cancellation;
  SolveOptions options;
  options.cancellation = &cancellation;
  options.on_progress = [&](const Progress& progress) {
    EXPECT_EQ(progress.phase, "exact makespan");
    EXPECT_EQ(progress.iterations % 65536, 0);
    cancellation.request();
  };
  const ExactResult result = solve_exactly(long_search(), options);
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.makespan_proven);
  EXPECT_EQ(result.nodes, 65536 + 256);
  EXPECT_EQ(result.solution->stopped_by, pipeline::StoppedBy::interrupt);
  EXPECT_TRUE(std::holds_alternative<Solution>(solve_exact(long_search(), options))) << "the best so far";
}

TEST(SolveExact, ReturnsOnlyOptima) {
  const Problem problem = problem_of(3, {model_of("a", {0, 1, 2}, 3, 1, 2)});
  const auto solution = std::get<Solution>(solve_exact(problem, {}));
  EXPECT_EQ(solution.evaluation.makespan, Ticks(15));
  EXPECT_EQ(solution.solver.name, "exact");
  SolveOptions brief;
  brief.iterations = 1000;
  EXPECT_EQ(test::why_not(solve_exact, long_search(), brief), "no optimum was proven within 1000 nodes");
  EXPECT_EQ(test::why_not(solve_exact, problem_of(4, {model_of("a", {0, 1, 2, 3}, 256, 1, 2)})),
            "the problem has 2048 ops, but the exact search accepts at most 2000");
}

}  // namespace
}  // namespace dovetail::fuse
