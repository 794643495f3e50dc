// Warm-up, repeated pattern, drain.
#include "fuse/pattern/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "pipeline/problem/instances.h"
#include "pipeline/schedule/validate.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Problem;

/// Two models in opposite directions: f 2 and 1, b 4 and 2, activations 1.64 and 1.
Problem two_way(int stages, int large_microbatches, int small_microbatches) {
  std::vector<int> down(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) down[static_cast<std::size_t>(stage)] = stage;
  const std::vector<int> up(down.rbegin(), down.rend());
  Problem problem = test::problem_of(stages, {test::chain_model("large", down, large_microbatches, 2, 4),
                                              test::chain_model("small", up, small_microbatches, 1, 2)});
  for (Memory& activation : problem.models[0].activation) activation = Memory(1'640'000);
  return problem;
}

test::RandomProblemOptions repetitive() {
  test::RandomProblemOptions options;
  options.max_microbatches = 24;
  options.max_stages = 5;
  options.max_devices = 5;
  options.max_ops = 400;
  return options;
}

Solution solved(const Problem& problem, const SolveOptions& options = {}) {
  Answer answer = solve_pattern(problem, options);
  EXPECT_TRUE(std::holds_alternative<Solution>(answer)) << std::get<NotApplicable>(answer).why;
  return std::get<Solution>(std::move(answer));
}

PatternFound found_in(const Problem& problem, const SolveOptions& options = {}) {
  auto found = search_pattern(problem, options);
  EXPECT_TRUE(std::holds_alternative<PatternFound>(found)) << std::get<std::string>(found);
  return std::get<PatternFound>(std::move(found));
}

bool is_valid(const Solution& solution) {
  return !pipeline::validate(pipeline::to_schedule(solution.problem, solution.graph, solution.evaluation));
}

std::int64_t makespan_of(const Solution& solution) { return solution.evaluation.makespan.count(); }

TEST(Pattern, MeetsTheBoundOfTwoModelsInOppositeDirections) {
  const Problem problem = two_way(16, 64, 64);
  const Solution solution = solved(problem);
  EXPECT_TRUE(is_valid(solution));
  EXPECT_EQ(solution.evaluation.makespan, bounds_of(problem).makespan);
  EXPECT_LE(solution.evaluation.peak_activation, Memory(36'000'000));
}

TEST(Pattern, IsWithinOnePercentOfTheBoundOnEightStages) {
  const Problem problem = two_way(8, 64, 64);
  EXPECT_LE(100 * makespan_of(solved(problem)), 101 * bounds_of(problem).makespan.count());
}

TEST(Pattern, EachFurtherRoundAddsOnePeriodAndNoMemory) {
  const Solution few = solved(two_way(8, 128, 128));
  const Solution many = solved(two_way(8, 328, 328));
  EXPECT_EQ(makespan_of(many) - makespan_of(few), 200 * 9);
  EXPECT_EQ(many.evaluation.peak_activation, few.evaluation.peak_activation);
}

TEST(Pattern, SearchedFormDoesNotGrowWithMicrobatches) {
  const PatternFound few = found_in(two_way(8, 256, 256));
  const PatternFound many = found_in(two_way(8, 100'000, 100'000));
  EXPECT_EQ(many.schedule.warm_up, few.schedule.warm_up);
  EXPECT_EQ(many.schedule.drain, few.schedule.drain);
  EXPECT_EQ(many.schedule.makespan - few.schedule.makespan, (100'000 - 256) * 9);
}

TEST(Pattern, RepeatsRoundsOfModelsWithDifferentNumbersOfMicrobatches) {
  for (const auto& [large, small] : {std::pair(64, 128), std::pair(64, 63), std::pair(60, 90), std::pair(200, 64)}) {
    const Problem problem = two_way(8, large, small);
    const Solution solution = solved(problem);
    EXPECT_TRUE(is_valid(solution)) << large << " " << small;
    EXPECT_LE(100 * makespan_of(solution), 112 * bounds_of(problem).makespan.count()) << large << " " << small;
  }
}

TEST(Pattern, LowersThePeakAtADeadline) {
  const Problem problem = two_way(8, 64, 64);
  SolveOptions options;
  const Solution fastest = solved(problem, options);
  options.deadline = Ticks(makespan_of(fastest) * 103 / 100);
  const Solution later = solved(problem, options);
  EXPECT_LE(later.evaluation.makespan, *options.deadline);
  EXPECT_LT(later.evaluation.peak_activation, fastest.evaluation.peak_activation);
}

TEST(Pattern, KeepsToAMemoryCapBelowTheFastestPatterns) {
  const Problem problem = two_way(8, 40, 40);
  for (const int cap : {14, 12, 8}) {
    SolveOptions options;
    options.memory_cap = Memory(std::int64_t{1'000'000} * cap);
    const Solution solution = solved(problem, options);
    EXPECT_TRUE(is_valid(solution));
    EXPECT_LE(solution.evaluation.peak_activation, *options.memory_cap);
  }
}

TEST(Pattern, ACapThatIsMetAnywayDoesNotMakeItWorse) {
  const Problem problem = two_way(8, 64, 64);
  const Solution free = solved(problem);
  SolveOptions options;
  options.memory_cap = free.evaluation.peak_activation;
  EXPECT_FALSE(is_better(free, solved(problem, options), options));
  Problem limited = problem;
  limited.capacity.emplace(8, free.evaluation.peak_activation);
  const Solution within = solved(limited);
  EXPECT_EQ(within.problem, limited);
  EXPECT_LE(makespan_of(within), makespan_of(free));
}

TEST(Pattern, TriesSmallerCapacities) {
  const Problem problem = pipeline::find_instance("capacity-5")->problem;
  const Solution alone = solved(problem);
  const std::vector<Solution> within = solve_patterns_within(problem, {});
  ASSERT_FALSE(within.empty());
  for (const Solution& solution : within) {
    EXPECT_EQ(solution.problem, problem);
    EXPECT_TRUE(is_valid(solution));
    EXPECT_TRUE(pipeline::find_excess(problem, solution.evaluation, {}).empty());
  }
  // Here 99% of the memory gives a shorter pattern than all of it.
  EXPECT_TRUE(std::any_of(within.begin(), within.end(),
                          [&](const Solution& solution) { return is_better(solution, alone, {}); }));
}

TEST(Pattern, UnlimitedAndExhaustedDevicesKeepTheirCapacity) {
  Problem problem = two_way(4, 16, 16);
  problem.resident.assign(4, Memory(0));
  problem.capacity.emplace(4, Memory::max());
  problem.capacity->front() = Memory(60'000'000);
  problem.capacity->back() = Memory(0);
  const std::vector<Solution> within = solve_patterns_within(problem, {});
  ASSERT_FALSE(within.empty());
  for (const Solution& solution : within) EXPECT_EQ(solution.problem, problem);
}

TEST(Pattern, DeadlineCoversAllMinibatches) {
  Problem problem = two_way(4, 16, 16);
  for (pipeline::Model& model : problem.models) model.minibatches = 3;
  SolveOptions options;
  options.deadline = solved(problem).evaluation.makespan + Ticks(2);
  EXPECT_LE(solved(problem, options).evaluation.makespan, *options.deadline);
}

TEST(Pattern, IsIndependentOfThreads) {
  const Problem problem = two_way(8, 48, 48);
  SolveOptions options;
  const Solution one = solved(problem, options);
  options.threads = 2;
  const Solution two = solved(problem, options);
  EXPECT_EQ(two.order.devices, one.order.devices);
}

TEST(Pattern, RunsOneMinibatchAfterTheOther) {
  Problem problem = two_way(4, 24, 24);
  for (pipeline::Model& model : problem.models) {
    model.minibatches = 3;
    model.step.assign(4, Ticks(5));
  }
  const Solution solution = solved(problem);
  EXPECT_TRUE(is_valid(solution));
  EXPECT_LT(makespan_of(solution), 3 * bounds_of(two_way(4, 24, 24)).makespan.count() + 60);
}

TEST(Pattern, StepsThatWaitForAllStagesFollowTheirMinibatch) {
  Problem problem = two_way(4, 24, 24);
  for (pipeline::Model& model : problem.models) {
    model.minibatches = 3;
    model.step.assign(4, Ticks(5));
    model.step_after = pipeline::StepAfter::model;
    model.step_before = pipeline::StepBefore::replicas;
  }
  const Solution solution = solved(problem);
  EXPECT_TRUE(is_valid(solution));
  EXPECT_LT(makespan_of(solution), 3 * bounds_of(two_way(4, 24, 24)).makespan.count() + 60);
}

TEST(Pattern, RejectsProblemsThatDoNotRepeat) {
  const Answer few = solve_pattern(two_way(4, 3, 3), {});
  ASSERT_TRUE(std::holds_alternative<NotApplicable>(few));
  EXPECT_THAT(std::get<NotApplicable>(few).why, testing::HasSubstr("fewer than four rounds"));
  Problem uneven = two_way(4, 8, 8);
  uneven.models[0].minibatches = 2;
  const Answer differing = solve_pattern(uneven, {});
  ASSERT_TRUE(std::holds_alternative<NotApplicable>(differing));
  EXPECT_THAT(std::get<NotApplicable>(differing).why, testing::HasSubstr("different numbers of mini-batches"));
}

TEST(Pattern, StopsWhenCancelled) {
  parallel::Cancellation cancellation;
  cancellation.request();
  SolveOptions options;
  options.cancellation = &cancellation;
  const Answer answer = solve_pattern(two_way(8, 64, 64), options);
  ASSERT_TRUE(std::holds_alternative<NotApplicable>(answer));
  EXPECT_THAT(std::get<NotApplicable>(answer).why, testing::HasSubstr("interrupted"));
}

RC_GTEST_PROP(PatternProperty, IsValidWhereverItFits, ()) {
  test::RandomProblemOptions options = repetitive();
  options.capacity = true;
  const Problem problem = *test::problems(options);
  const Answer answer = solve_pattern(problem, {});
  const auto* solution = std::get_if<Solution>(&answer);
  if (!solution) return;
  RC_ASSERT(is_valid(*solution) == pipeline::find_excess(problem, solution->evaluation, {}).empty());
}

RC_GTEST_PROP(PatternProperty, EvaluatesToAtMostTheSearchResult, ()) {
  test::RandomProblemOptions options = repetitive();
  options.steps = false;
  const Problem problem = *test::problems(options);
  const auto found = search_pattern(problem, {});
  const auto* pattern = std::get_if<PatternFound>(&found);
  if (!pattern) return;
  const pipeline::Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::split);
  const auto evaluation = pipeline::evaluate(lowering.graph, expand_pattern(*pattern, problem, lowering));
  RC_ASSERT(evaluation.ok());
  RC_ASSERT(evaluation.value().makespan.count() <= pattern->schedule.makespan);
  RC_ASSERT(evaluation.value().peak_activation.count() <= pattern->schedule.peak_activation);
}

}  // namespace
}  // namespace dovetail::fuse
