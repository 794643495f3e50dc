#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>

#include "fuse/bounds.h"
#include "pipeline/instances.h"
#include "support/brute_force.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Problem;
using test::chain_model;
using test::problem_of;

TEST(PeakActivationBound, OfTheTwelveAtTheirBound) {
  const std::map<std::string, std::int64_t> expected{
      {"exp0", 2'000'000}, {"exp1", 13'650'000}, {"exp2", 15'600'000}, {"exp3", 1'950'000}, {"exp4", 13'650'000},  {"exp5", 15'600'000},
      {"exp6", 2'000'000}, {"exp7", 13'120'000}, {"exp8", 26'240'000}, {"exp9", 1'640'000}, {"exp10", 16'400'000}, {"exp11", 26'240'000}};
  for (const auto& [name, peak] : expected) {
    const Problem& problem = pipeline::find_instance(name)->problem;
    EXPECT_EQ(peak_activation_bound(problem, bounds_of(problem).makespan).count(), peak) << name;
  }
}

TEST(PeakActivationBound, IsNotAboveThePeaksFoundOnTheTwelve) {
  // The least peaks known at the latency bound: published ones, and those found by searches on the same instances.
  const std::map<std::string, std::int64_t> found{{"exp0", 15'950'000}, {"exp1", 15'600'000}, {"exp2", 15'600'000},  {"exp3", 16'950'000},
                                                  {"exp4", 16'950'000}, {"exp5", 15'600'000}, {"exp6", 29'640'000},  {"exp7", 26'240'000},
                                                  {"exp8", 26'240'000}, {"exp9", 31'640'000}, {"exp10", 29'640'000}, {"exp11", 26'240'000}};
  for (const auto& [name, peak] : found) {
    const Problem& problem = pipeline::find_instance(name)->problem;
    EXPECT_LE(peak_activation_bound(problem, bounds_of(problem).makespan).count(), peak) << name;
  }
}

TEST(PeakActivationBound, OfOnePipelineAtItsOptimumIsOneMicrobatchAStage) {
  // 1F1B holds p micro-batches on stage 0, and no schedule of the same makespan can do with less.
  const Problem problem = problem_of(4, {chain_model("a", {0, 1, 2, 3}, 8, 1, 2)});
  EXPECT_EQ(bounds_of(problem).makespan, Ticks(33));
  EXPECT_EQ(peak_activation_bound(problem, Ticks(33)), Memory(4'000'000));
}

TEST(PeakActivationBound, FallsWithTheDeadline) {
  const Problem problem = problem_of(4, {chain_model("a", {0, 1, 2, 3}, 8, 1, 2)});
  Memory last = Memory::max();
  for (int deadline = 33; deadline <= 100; ++deadline) {
    const Memory bound = peak_activation_bound(problem, Ticks(deadline));
    EXPECT_LE(bound, last);
    last = bound;
  }
  EXPECT_EQ(last, Memory(1'000'000));
}

TEST(PeakActivationBound, CountsOnlyWhatWStillHoldsAfterI) {
  // One stage, two micro-batches: F I F I W W takes no longer than F I W F I W. Where W keeps nothing, one micro-batch is held at a time.
  pipeline::Model model = chain_model("a", {0}, 2, 1, 1);
  model.weight_gradient = {Ticks(1)};
  model.weight_activation = {Memory(0)};
  EXPECT_EQ(peak_activation_bound(problem_of(1, {model}), Ticks(6)), Memory(1'000'000));
}

TEST(PeakActivationBound, AtALateDeadlineIsTheOneForAnySchedule) {
  for (const pipeline::Instance& bundled : pipeline::instances()) {
    if (!bundled.published) continue;
    EXPECT_EQ(peak_activation_bound(bundled.problem, Ticks(1'000'000)), bounds_of(bundled.problem).peak_activation) << bundled.name;
    EXPECT_EQ(peak_activation_bound(bundled.problem), bounds_of(bundled.problem).peak_activation) << bundled.name;
  }
}

RC_GTEST_PROP(PeakActivationBoundProperty, FallsWithTheDeadlineToTheOneForAnySchedule, ()) {
  const Problem problem = *test::problems();
  const Bounds bounds = bounds_of(problem);
  Memory last = Memory::max();
  for (const int slack : {0, 1, 2, 5, 10, 100}) {
    const Memory bound = peak_activation_bound(problem, bounds.makespan + Ticks(slack));
    RC_ASSERT(bound <= last);
    RC_ASSERT(bound >= bounds.peak_activation);
    last = bound;
  }
}

TEST(PeakActivationBoundOracle, NoScheduleWithinTheDeadlineNeedsLess) {
  test::RandomProblemOptions options;
  options.most_ops = 14;
  int solved = 0;
  int met = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Problem problem = test::random_problem(seed, options);
    const pipeline::OpGraph graph = pipeline::lower(problem, pipeline::BackwardForm::split).graph;
    const test::BruteForceOptions limited{.most_steps = 100'000};
    const auto optimum = test::brute_force(graph, limited);
    if (!optimum) continue;
    ++solved;
    ASSERT_LE(peak_activation_bound(problem, optimum->makespan), optimum->peak_at_makespan) << "seed " << seed;
    ASSERT_EQ(bounds_of(problem).peak_activation, optimum->least_peak) << "seed " << seed << ": one micro-batch after the other";
    met += peak_activation_bound(problem, optimum->makespan) == optimum->peak_at_makespan ? 1 : 0;
    for (const int slack : {1, 3, 8}) {
      const Ticks deadline = optimum->makespan + Ticks(slack);
      const auto least = test::brute_force_peak(graph, deadline, limited);
      if (!least) continue;
      ASSERT_LE(peak_activation_bound(problem, deadline), *least) << "seed " << seed << ", slack " << slack;
    }
  }
  EXPECT_GT(solved, 1900);
  EXPECT_GT(met, solved * 8 / 10);
}

}  // namespace
}  // namespace dovetail::fuse
