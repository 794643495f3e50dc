#include "fuse/bounds/bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>

#include "fuse/bounds/position_bounds.h"
#include "pipeline/problem/instances.h"
#include "support/brute_force.h"
#include "support/effort.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using base::Memory;
using base::Ticks;
using pipeline::BackwardForm;
using pipeline::Problem;
using test::chain_model;
using test::problem_of;

const Problem& instance(const std::string& name) { return pipeline::find_instance(name)->problem; }

struct InstanceBounds {
  const char* name;
  std::int64_t path;
  std::int64_t work;
  std::int64_t head_work_tail;
  std::int64_t one_machine;
  std::int64_t makespan;
};

class BundledInstance : public testing::TestWithParam<InstanceBounds> {};

TEST_P(BundledInstance, HasItsBounds) {
  const InstanceBounds& expected = GetParam();
  const Bounds bounds = bounds_of(instance(expected.name));
  EXPECT_EQ(bounds.path.count(), expected.path);
  EXPECT_EQ(bounds.work.count(), expected.work);
  EXPECT_EQ(bounds.head_work_tail.count(), expected.head_work_tail);
  EXPECT_EQ(bounds.one_machine.count(), expected.one_machine);
  EXPECT_EQ(bounds.makespan.count(), expected.makespan);
}

// The last column is FlexFusion's published bound (scale64 and scale256: computed by hand from the same formula).
INSTANTIATE_TEST_SUITE_P(
    All, BundledInstance,
    testing::Values(InstanceBounds{"exp0", 120, 672, 708, 708, 708}, InstanceBounds{"exp1", 120, 336, 372, 372, 372},
                    InstanceBounds{"exp2", 120, 168, 225, 225, 225}, InstanceBounds{"exp3", 120, 672, 702, 702, 702},
                    InstanceBounds{"exp4", 120, 336, 366, 366, 366}, InstanceBounds{"exp5", 120, 168, 225, 225, 225},
                    InstanceBounds{"exp6", 96, 576, 618, 618, 618}, InstanceBounds{"exp7", 96, 288, 330, 330, 330},
                    InstanceBounds{"exp8", 96, 144, 186, 186, 186}, InstanceBounds{"exp9", 96, 576, 606, 606, 606},
                    InstanceBounds{"exp10", 96, 288, 318, 318, 318}, InstanceBounds{"exp11", 96, 144, 186, 186, 186},
                    InstanceBounds{"scale64", 384, 2304, 2430, 2430, 2430},
                    InstanceBounds{"scale256", 1536, 9216, 9726, 9726, 9726}),
    [](const auto& tested) { return std::string(tested.param.name); });

TEST(Bounds, MatchThePublishedOnesOfTheTwelveInstances) {
  int compared = 0;
  for (const pipeline::Instance& bundled : pipeline::instances()) {
    if (!bundled.published) continue;
    EXPECT_EQ(bounds_of(bundled.problem).makespan, bundled.published->bound) << bundled.name;
    ++compared;
  }
  EXPECT_EQ(compared, 12);
}

TEST(Bounds, SinglePipelineIsFillWorkAndDrain) {
  // (p - 1 + m) (f + b), the makespan of GPipe and 1F1B, for 3 stages and 4 micro-batches.
  const Bounds bounds = bounds_of(problem_of(3, {chain_model("a", {0, 1, 2}, 4, 2, 3)}));
  EXPECT_EQ(bounds.makespan, Ticks(30));
  EXPECT_EQ(bounds.path, Ticks(15));
  EXPECT_EQ(bounds.work, Ticks(20));
  EXPECT_THAT(bounds.head_work_tail_by_device, testing::ElementsAre(Ticks(20), Ticks(25), Ticks(30)));
  EXPECT_THAT(bounds.one_machine_by_device, testing::ElementsAre(Ticks(30), Ticks(30), Ticks(30)));
}

TEST(Bounds, CountTransfersOfThePath) {
  pipeline::Model model = chain_model("a", {0, 1}, 1, 2, 3);
  model.transfer_forward = {Ticks(7)};
  model.transfer_backward = {Ticks(11)};
  EXPECT_EQ(bounds_of(problem_of(2, {model})).path, Ticks(2 + 7 + 2 + 3 + 11 + 3));
  model.replicas = {{base::DeviceId(0), base::DeviceId(0)}};
  EXPECT_EQ(bounds_of(problem_of(2, {model})).path, Ticks(2 + 2 + 3 + 3)) << "no transfer within a device";
}

TEST(Bounds, TakeTheBestSubsetOfModels) {
  // On device 2 the long pipeline alone needs 10 + 2 x 15 + 20. With the short model, which can start there
  // immediately, the minimum head and tail are 0, and 60 > 0 + 30 + 2 + 0.
  const Problem problem = problem_of(3, {chain_model("long", {0, 1, 2}, 2, 5, 10), chain_model("short", {2}, 1, 1, 1)});
  const Bounds bounds = bounds_of(problem);
  EXPECT_EQ(bounds.head_work_tail_by_device[2], Ticks(60));
  EXPECT_EQ(bounds.makespan, Ticks(60));
}

TEST(Bounds, AreZeroOnDevicesWithoutOps) {
  const Bounds bounds = bounds_of(problem_of(2, {chain_model("a", {0}, 1, 1, 1)}));
  EXPECT_EQ(bounds.head_work_tail_by_device[1], Ticks(0));
  EXPECT_EQ(bounds.one_machine_by_device[1], Ticks(0));
}

TEST(Bounds, MinibatchesFollowEachOther) {
  // Every mini-batch is a separate pipeline of (p - 1 + m) (f + b) = 25 ticks, and a step of 4 ticks ends it on stage
  // 0.
  pipeline::Model model = chain_model("a", {0, 1}, 4, 2, 3);
  model.minibatches = 3;
  model.step = {Ticks(4), Ticks(0)};
  EXPECT_EQ(bounds_of(problem_of(2, {model})).makespan, Ticks(3 * 29));
}

TEST(Bounds, AStepWaitsForAllReplicas) {
  pipeline::Model model = chain_model("a", {0, 1}, 1, 1, 1);
  model.replicas.push_back({base::DeviceId(2), base::DeviceId(2)});
  model.transfer_forward = {Ticks(20)};
  model.minibatches = 2;
  // Replica 1 is on one device and has no transfers: 4 ticks per mini-batch. But both of its steps wait for the 24
  // ticks of replica 0.
  const Bounds bounds = bounds_of(problem_of(3, {model}));
  EXPECT_EQ(bounds.head_work_tail_by_device[2], Ticks(2 * 4));
  EXPECT_EQ(bounds.one_machine_by_device[2], Ticks(2 * 24));
  EXPECT_EQ(bounds.makespan, Ticks(2 * 24));
}

TEST(Bounds, AStepMayWaitForAllStages) {
  pipeline::Model model = chain_model("a", {0, 1}, 4, 2, 3);
  model.step = {Ticks(0), Ticks(6)};
  const auto bound = [&] { return bounds_of(problem_of(2, {model})).makespan; };
  // (p - 1 + m) (f + b) = 25 ticks end on stage 0. Stage 1 ends 3 ticks earlier, then steps.
  EXPECT_EQ(bound(), Ticks(22 + 6));
  model.step_after = pipeline::StepAfter::model;
  EXPECT_EQ(bound(), Ticks(25 + 6));
  model.minibatches = 2;
  // Stage 1 starts again after its step: 20 ticks of passes, the last backward of stage 0, and a step.
  EXPECT_EQ(bound(), Ticks(31 + 20 + 3 + 6));
}

TEST(Bounds, AForwardMayWaitForTheStepsOfAllReplicas) {
  pipeline::Model model = chain_model("a", {0, 0}, 1, 1, 1);
  model.replicas.push_back({base::DeviceId(1), base::DeviceId(2)});
  model.transfer_forward = model.transfer_backward = {Ticks(20)};
  model.minibatches = 2;
  model.step = {Ticks(3), Ticks(3)};
  const auto after_first_step = [&](std::size_t replica) {
    return position_bounds(problem_of(3, {model}))[replica * 2].tails.step[0];
  };
  EXPECT_EQ(after_first_step(0), Ticks(4 + 3));
  EXPECT_EQ(after_first_step(1), Ticks(20 + 4 + 20 + 3));
  model.step_before = pipeline::StepBefore::replicas;
  EXPECT_EQ(after_first_step(0), Ticks(20 + 4 + 20 + 3));
}

TEST(Bounds, SplitBackwardLeavesTheWeightGradientOffThePath) {
  pipeline::Model model = chain_model("a", {0, 1, 2}, 4, 1, 1);
  model.weight_gradient.assign(3, Ticks(1));
  model.weight_activation = model.activation;
  const Bounds bounds = bounds_of(problem_of(3, {model}));
  EXPECT_EQ(bounds.path, Ticks(7)) << "F F F I I I W";
  // Device 2: work arrives after 2 ticks and takes 12. The last op can be a W, but the last I still has two more stages
  // and a W to go.
  EXPECT_EQ(bounds.makespan, Ticks(14));
}

TEST(Bounds, PeakIsOneMicrobatchOnAllStagesOfADevice) {
  pipeline::Model folded = chain_model("folded", {0, 1, 0}, 2, 1, 1);
  folded.activation = {Memory(5), Memory(7), Memory(4)};
  pipeline::Model other = chain_model("other", {1}, 1, 1, 1);
  other.activation = {Memory(8)};
  EXPECT_EQ(bounds_of(problem_of(2, {folded, other})).peak_activation, Memory(9));
}

/// Reverses time: forwards become backwards.
Problem reversed(Problem problem) {
  for (pipeline::Model& model : problem.models) {
    std::swap(model.forward, model.backward);
    std::swap(model.transfer_forward, model.transfer_backward);
  }
  return problem;
}

RC_GTEST_PROP(BoundsProperty, AreInvariantUnderTimeReversal, ()) {
  test::RandomProblemOptions options;
  options.split = false;
  options.steps = false;
  const Problem problem = *test::problems(options);
  const Bounds bounds = bounds_of(problem);
  const Bounds mirrored = bounds_of(reversed(problem));
  RC_ASSERT(bounds.path.count() == mirrored.path.count());
  RC_ASSERT(bounds.head_work_tail_by_device == mirrored.head_work_tail_by_device);
  RC_ASSERT(bounds.one_machine_by_device == mirrored.one_machine_by_device);
  for (const int slack : {0, 1, 5, 50}) {
    const Ticks deadline = bounds.makespan + Ticks(slack);
    const BoundOptions sums{.work = 0};
    RC_ASSERT(peak_activation_bound(problem, deadline, sums).count() ==
              peak_activation_bound(reversed(problem), deadline, sums).count());
  }
}

RC_GTEST_PROP(BoundsProperty, OneMachineIsTheStrongest, ()) {
  const Bounds bounds = bounds_of(*test::problems());
  RC_ASSERT(bounds.path <= bounds.one_machine);
  RC_ASSERT(bounds.work <= bounds.head_work_tail);
  for (std::size_t device = 0; device < bounds.one_machine_by_device.size(); ++device)
    RC_ASSERT(bounds.head_work_tail_by_device[device] <= bounds.one_machine_by_device[device]);
  RC_ASSERT(bounds.makespan.count() == bounds.one_machine.count());
}

TEST(BoundsOracle, NoScheduleIsFasterAndMostAreMet) {
  test::RandomProblemOptions options;
  options.max_ops = 16;
  int solved = 0;
  int met = 0;
  for (std::uint64_t seed = 0; seed < test::effort(3000U); ++seed) {
    const Problem problem = test::random_problem(seed, options);
    const auto optimum =
        test::brute_force_makespan(pipeline::lower(problem, BackwardForm::split).graph, {.max_steps = 100'000});
    if (!optimum) continue;
    const Bounds bounds = bounds_of(problem);
    ASSERT_LE(bounds.makespan, *optimum) << "seed " << seed;
    ++solved;
    met += bounds.makespan == *optimum ? 1 : 0;
  }
  EXPECT_GT(solved, test::effort(2800));
  EXPECT_GT(met, solved * 9 / 10);
}

TEST(BoundsOracle, HoldsForWholeAndMixedBackwards) {
  test::RandomProblemOptions options;
  options.max_ops = 12;
  options.max_models = 2;
  int split = 0;
  for (std::uint64_t seed = 0; seed < test::effort(1500U); ++seed) {
    const Problem problem = test::random_problem(seed, options);
    if (test::count_split_ops(problem) == pipeline::count_ops(problem)) continue;
    const std::size_t backwards = pipeline::lower(problem, BackwardForm::whole).microbatch_ops.size();
    const Bounds bounds = bounds_of(problem);
    for (const bool every_other : {false, true}) {
      std::vector<bool> whole(backwards, true);
      for (std::size_t i = 0; every_other && i < backwards; i += 2) whole[i] = false;
      // Without the order of micro-batches: in a mixed form they are not interchangeable.
      const auto optimum =
          test::brute_force(pipeline::lower(problem, whole).graph, {.in_order = false, .max_steps = 100'000});
      if (!optimum) continue;
      ASSERT_LE(bounds.makespan, optimum->makespan) << "seed " << seed;
      ASSERT_LE(peak_activation_bound(problem, optimum->makespan), optimum->peak_at_makespan) << "seed " << seed;
      ++split;
    }
  }
  EXPECT_GT(split, test::effort(500));
}

TEST(FindImpossible, NamesTheDevicesThatOneMicrobatchOverfills) {
  Problem problem = problem_of(2, {chain_model("actor", {0, 1, 0}, 4, 1, 2), chain_model("critic", {1, 0}, 4, 1, 2)});
  EXPECT_TRUE(find_impossible(problem, std::nullopt).empty());
  EXPECT_TRUE(find_impossible(problem, Memory(2'000'000)).empty());
  const auto capped = find_impossible(problem, Memory(1'999'999));
  ASSERT_EQ(capped.size(), 1U);
  EXPECT_EQ(capped[0].device, base::DeviceId(0));
  EXPECT_EQ(capped[0].peak, Memory(2'000'000));
  EXPECT_EQ(capped[0].capacity, Memory(1'999'999));
  problem.resident = {Memory(0), Memory(500'000)};
  problem.capacity = {Memory(2'000'000), Memory(1'400'000)};
  const auto resident = find_impossible(problem, Memory(5'000'000));
  ASSERT_EQ(resident.size(), 1U);
  EXPECT_EQ(resident[0].device, base::DeviceId(1));
  EXPECT_EQ(resident[0].peak, Memory(1'500'000));
}

}  // namespace
}  // namespace dovetail::fuse
