#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "fuse/bounds/bounds.h"
#include "pipeline/problem/instances.h"
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

TEST(MakespanBound, MemoryForOneMicrobatchSerializesThePipeline) {
  const Problem problem = problem_of(3, {chain_model("a", {0, 1, 2}, 4, 2, 3)});
  EXPECT_EQ(makespan_bound(problem, std::nullopt), Ticks(30));
  EXPECT_EQ(makespan_bound(problem, Memory(3'000'000)), Ticks(30)) << "1F1B fits";
  EXPECT_EQ(makespan_bound(problem, Memory(1'000'000)), Ticks(60));
}

TEST(MakespanBound, CountsResidentAndCapacity) {
  Problem problem = problem_of(2, {chain_model("a", {0, 1}, 3, 1, 1)});
  problem.capacity = {Memory(9'000'000), Memory(9'000'000)};
  EXPECT_EQ(makespan_bound(problem, std::nullopt), Ticks(8));
  problem.resident = {Memory(8'000'000), Memory(0)};
  EXPECT_EQ(makespan_bound(problem, std::nullopt), Ticks(12)) << "one micro-batch at a time on device 0";
  problem.resident = {Memory(0), Memory(0)};
  EXPECT_EQ(makespan_bound(problem, Memory(1'500'000)), Ticks(12)) << "the smaller limit applies";
}

TEST(MakespanBound, EqualsTheSimpleBoundIfNothingFits) {
  const Problem problem = problem_of(2, {chain_model("a", {0, 1}, 3, 1, 1)});
  EXPECT_EQ(makespan_bound(problem, Memory(500'000)), Ticks(8));
}

TEST(MakespanBound, KnowsThatOpsAreNotInterrupted) {
  // Device 0 has 6 ticks of work. Jackson's machine interrupts the long forward at time 1 for the short model, whose
  // backward still needs 3 ticks on device 1. A schedule either idles until 1 for the short model or runs its
  // backward late.
  pipeline::Model small = chain_model("short", {1, 0}, 1, 1, 1);
  small.backward = {Ticks(3), Ticks(1)};
  const Problem problem = problem_of(2, {chain_model("long", {0}, 1, 3, 1), small});
  EXPECT_EQ(bounds_of(problem).makespan, Ticks(6));
  EXPECT_EQ(makespan_bound(problem, std::nullopt), Ticks(7));
}

TEST(MakespanBound, GrowsAsMemoryShrinks) {
  const Problem& problem = pipeline::find_instance("exp2")->problem;
  Ticks last;
  for (const std::int64_t cap : {16'000'000, 15'000'000, 12'000'000, 8'000'000, 4'000'000, 2'000'000}) {
    const Ticks bound = makespan_bound(problem, Memory(cap), {.work = 100'000});
    EXPECT_GE(bound, last);
    last = bound;
  }
  EXPECT_GT(last, Ticks(225 * 3));
}

TEST(MakespanBound, StopsAtAKnownMakespan) {
  const Problem problem = problem_of(3, {chain_model("a", {0, 1, 2}, 4, 2, 3)});
  EXPECT_EQ(makespan_bound(problem, Memory(1'000'000), {.known_makespan = Ticks(45)}), Ticks(45));
}

TEST(MakespanBoundOracle, IsTheMinimumMakespanOfSmallProblems) {
  test::RandomProblemOptions options;
  options.max_ops = 16;
  int solved = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    const Problem problem = test::random_problem(seed, options);
    const auto optimum = test::brute_force_makespan(pipeline::lower(problem, pipeline::BackwardForm::split).graph,
                                                    {.max_steps = 50'000});
    if (!optimum) continue;
    ASSERT_EQ(makespan_bound(problem, std::nullopt), *optimum) << "seed " << seed;
    ++solved;
  }
  EXPECT_GT(solved, 900);
}

TEST(MakespanBoundOracle, NoScheduleWithinACapIsShorter) {
  test::RandomProblemOptions options;
  options.max_ops = 16;
  options.resident = false;
  int met = 0;
  for (std::uint64_t seed = 0; seed < 700; ++seed) {
    const Problem problem = test::random_problem(seed, options);
    const pipeline::OpGraph graph = pipeline::lower(problem, pipeline::BackwardForm::split).graph;
    const test::BruteForceOptions limited{.max_steps = 50'000};
    const auto optimum = test::brute_force(graph, limited);
    if (!optimum) continue;
    Memory last = optimum->peak_at_makespan;
    for (int slack = 1; slack <= 6; ++slack) {
      const Ticks deadline = optimum->makespan + Ticks(slack);
      const auto least = test::brute_force_peak(graph, deadline, limited);
      if (!least || *least == last) continue;
      // The cap only just suffices: the minimum makespan within it is this deadline.
      ASSERT_EQ(makespan_bound(problem, *least), deadline) << "seed " << seed << ", slack " << slack;
      last = *least;
      ++met;
    }
  }
  EXPECT_GT(met, 50);
}

}  // namespace
}  // namespace dovetail::fuse
