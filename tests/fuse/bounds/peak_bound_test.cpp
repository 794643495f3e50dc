#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <string>
#include <variant>

#include "base/file.h"
#include "fuse/bounds/bounds.h"
#include "fuse/solver.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/instances.h"
#include "pipeline/schedule/evaluate.h"
#include "support/brute_force.h"
#include "support/effort.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::Problem;
using test::chain_model;
using test::problem_of;

/// Bounds proven for a bundled instance at its latency bound, in millionths.
struct InstancePeaks {
  const char* name;
  std::int64_t sweep;   ///< without refutations
  std::int64_t proven;  ///< with a million steps of work, a twentieth of the default
  std::int64_t known;   ///< peak of the best known schedule, published or found by a search
};

class BundledPeak : public testing::TestWithParam<InstancePeaks> {
 protected:
  Memory bound(const BoundOptions& options) const {
    const Problem& problem = pipeline::find_instance(GetParam().name)->problem;
    return peak_activation_bound(problem, bounds_of(problem).makespan, options);
  }
};

TEST_P(BundledPeak, IsProven) {
  EXPECT_EQ(bound({.work = 0}).count(), GetParam().sweep);
  EXPECT_EQ(bound({.work = 1'000'000}).count(), GetParam().proven);
}

TEST_P(BundledPeak, IsNotAboveTheBestKnown) { EXPECT_LE(bound({.work = 1'000'000}).count(), GetParam().known); }

TEST_P(BundledPeak, StopsAtAKnownPeak) {
  // Larger bounds are not tried. If the known peak is reached, less work is enough.
  EXPECT_LE(bound({.work = 1'000'000, .known_peak = Memory(GetParam().known)}).count(), GetParam().known);
  EXPECT_EQ(bound({.work = 1'000'000, .known_peak = Memory(GetParam().sweep)}).count(), GetParam().sweep);
}

INSTANTIATE_TEST_SUITE_P(Twelve, BundledPeak,
                         testing::Values(InstancePeaks{"exp0", 2'000'000, 13'650'000, 15'950'000},
                                         InstancePeaks{"exp1", 13'650'000, 15'600'000, 15'750'000},
                                         InstancePeaks{"exp2", 15'600'000, 15'600'000, 15'600'000},
                                         InstancePeaks{"exp3", 1'950'000, 13'650'000, 16'950'000},
                                         InstancePeaks{"exp4", 13'650'000, 15'600'000, 16'950'000},
                                         InstancePeaks{"exp5", 15'600'000, 15'600'000, 15'600'000},
                                         InstancePeaks{"exp6", 2'000'000, 19'680'000, 29'640'000},
                                         InstancePeaks{"exp7", 13'120'000, 21'280'000, 26'240'000},
                                         InstancePeaks{"exp8", 26'240'000, 26'240'000, 26'240'000},
                                         InstancePeaks{"exp9", 1'640'000, 19'680'000, 31'640'000},
                                         InstancePeaks{"exp10", 16'400'000, 22'840'000, 29'640'000},
                                         InstancePeaks{"exp11", 26'240'000, 26'240'000, 26'240'000}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(PeakActivationBound, IsNotAboveThePeaksOfThePublishedSchedules) {
  int compared = 0;
  for (const pipeline::Instance& bundled : pipeline::instances()) {
    for (const char* ending : {".txt", ".mem-optimized.txt"}) {
      const auto content = base::read_file(std::string(DOVETAIL_SOURCE_DIR) + "/tests/data/flexfusion/trace_" +
                                           std::string(bundled.name) + ending);
      if (!content.ok()) continue;
      const auto trace = pipeline::parse_trace(*content, "trace", &bundled.problem);
      ASSERT_TRUE(trace.ok()) << bundled.name;
      const pipeline::Evaluation evaluation = pipeline::evaluate(trace->schedule).evaluation;
      EXPECT_LE(peak_activation_bound(bundled.problem, evaluation.makespan, {.work = test::effort(500'000)}),
                evaluation.peak_activation)
          << bundled.name;
      EXPECT_LE(makespan_bound(bundled.problem, evaluation.peak_activation, {.work = test::effort(500'000)}),
                evaluation.makespan)
          << bundled.name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 17);
}

TEST(PeakActivationBound, IsNotAbovePeaksOfSolvers) {
  // Problems that are too large for the oracle, with all features.
  test::RandomProblemOptions options;
  options.max_stages = 6;
  options.max_microbatches = 8;
  options.max_devices = 6;
  for (std::uint64_t seed = 0; seed < test::effort(25U); ++seed) {
    const Problem problem = test::random_problem(seed, options);
    for (const char* name : {"1f1b", "list", "greedy", "one-at-a-time"}) {
      const Answer answer = find_solver(name)->solve(problem, {});
      const auto* solution = std::get_if<Solution>(&answer);
      if (solution == nullptr || solution->other_layout) continue;
      const pipeline::Evaluation& found = solution->evaluation;
      EXPECT_LE(peak_activation_bound(problem, found.makespan, {.work = 30'000}), found.peak_activation)
          << name << ", seed " << seed;
    }
  }
}

TEST(PeakActivationBound, OnePipelineAtItsOptimumHoldsOneMicrobatchPerStage) {
  // 1F1B holds p micro-batches on stage 0, and no schedule of the same makespan holds fewer.
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
  // One stage, two micro-batches: F I F I W W takes no longer than F I W F I W. If W keeps no memory, one micro-batch
  // is held at a time.
  pipeline::Model model = chain_model("a", {0}, 2, 1, 1);
  model.weight_gradient = {Ticks(1)};
  model.weight_activation = {Memory(0)};
  EXPECT_EQ(peak_activation_bound(problem_of(1, {model}), Ticks(6)), Memory(1'000'000));
}

TEST(PeakActivationBound, CountsInteractionsOfModels) {
  // Two models of one micro-batch each on the same two devices, in opposite directions. One after the other they take 6
  // + 6 ticks and hold one micro-batch at a time. Each alone can easily end by 9, but both end by then only if a device
  // holds both at once.
  const Problem problem = problem_of(2, {chain_model("there", {0, 1}, 1, 1, 2), chain_model("back", {1, 0}, 1, 1, 2)});
  EXPECT_EQ(peak_activation_bound(problem, Ticks(9), {.work = 0}), Memory(1'000'000));
  EXPECT_EQ(peak_activation_bound(problem, Ticks(9)), Memory(2'000'000));
  EXPECT_EQ(peak_activation_bound(problem, Ticks(12)), Memory(1'000'000));
}

TEST(PeakActivationBound, HoldsForTheLargestActivations) {
  Problem problem = test::problem_of(2, {test::chain_model("model", {0, 1}, 4, 2, 4)});
  pipeline::Model& model = problem.models[0];
  model.activation.assign(2, Memory(500'000'000'000'000'000));
  model.weight_activation = model.activation;
  model.backward.assign(2, Ticks(2));
  model.weight_gradient.assign(2, Ticks(2));
  ASSERT_FALSE(pipeline::find_fault(problem));
  for (std::int64_t deadline = 1; deadline < 60; ++deadline) {
    const Memory bound = peak_activation_bound(problem, Ticks(deadline));
    EXPECT_GE(bound, peak_activation_bound(problem)) << deadline;
  }
}

TEST(PeakActivationBound, IsUnlimitedIfNoScheduleMeetsTheDeadline) {
  const Problem problem = problem_of(1, {chain_model("a", {0}, 2, 1, 1)});
  EXPECT_EQ(peak_activation_bound(problem, Ticks(3)), Memory::max());
  EXPECT_EQ(peak_activation_bound(problem, Ticks(4)), Memory(1'000'000));
}

TEST(PeakActivationBound, IsCutShortByACancellation) {
  const Problem& problem = pipeline::find_instance("exp0")->problem;
  parallel::Cancellation cancellation;
  cancellation.request();
  EXPECT_EQ(peak_activation_bound(problem, Ticks(708), {.cancellation = &cancellation}), Memory(2'000'000));
}

TEST(PeakActivationBound, EqualsTheGeneralBoundAtALateDeadline) {
  for (const pipeline::Instance& bundled : pipeline::instances()) {
    if (!bundled.published) continue;
    EXPECT_EQ(peak_activation_bound(bundled.problem, Ticks(1'000'000), {.work = 100'000}),
              bounds_of(bundled.problem).peak_activation)
        << bundled.name;
    EXPECT_EQ(peak_activation_bound(bundled.problem), bounds_of(bundled.problem).peak_activation) << bundled.name;
  }
}

RC_GTEST_PROP(PeakActivationBoundProperty, DecreasesWithTheDeadlineToTheGeneralBound, ()) {
  // Without the last resort, which may succeed at one deadline and run out of work at an earlier one: only sums, or
  // small problems in full.
  test::RandomProblemOptions options;
  const bool small = *rc::gen::arbitrary<bool>();
  if (small) options.max_ops = 20;
  const Problem problem = *test::problems(options);
  const Bounds bounds = bounds_of(problem);
  Memory last = Memory::max();
  for (const int slack : {0, 1, 2, 5, 10, 100}) {
    const Memory bound =
        peak_activation_bound(problem, bounds.makespan + Ticks(slack), {.work = small ? 5'000'000 : 0});
    RC_ASSERT(bound <= last);
    RC_ASSERT(bound >= bounds.peak_activation);
    last = bound;
  }
}

TEST(PeakActivationBoundOracle, NoScheduleWithinTheDeadlineNeedsLess) {
  test::RandomProblemOptions options;
  options.max_ops = 14;
  int solved = 0;
  int met = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Problem problem = test::random_problem(seed, options);
    const pipeline::OpGraph graph = pipeline::lower(problem, pipeline::BackwardForm::split).graph;
    const test::BruteForceOptions limited{.max_steps = 100'000};
    const auto optimum = test::brute_force(graph, limited);
    if (!optimum) continue;
    ++solved;
    ASSERT_LE(peak_activation_bound(problem, optimum->makespan), optimum->peak_at_makespan) << "seed " << seed;
    ASSERT_EQ(bounds_of(problem).peak_activation, optimum->min_peak)
        << "seed " << seed << ": one micro-batch after the other";
    met += peak_activation_bound(problem, optimum->makespan) == optimum->peak_at_makespan ? 1 : 0;
    for (const int slack : {1, 3, 8}) {
      const Ticks deadline = optimum->makespan + Ticks(slack);
      const auto least = test::brute_force_peak(graph, deadline, limited);
      if (!least) continue;
      ASSERT_LE(peak_activation_bound(problem, deadline), *least) << "seed " << seed << ", slack " << slack;
    }
  }
  EXPECT_GT(solved, 1900);
  EXPECT_EQ(met, solved);
}

}  // namespace
}  // namespace dovetail::fuse
