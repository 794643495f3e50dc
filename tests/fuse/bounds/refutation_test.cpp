#include "fuse/bounds/refutation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "fuse/bounds/activation_levels.h"
#include "pipeline/problem/instances.h"
#include "support/brute_force.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using base::DeviceId;
using base::Memory;
using base::PipelineId;
using base::Ticks;
using pipeline::Problem;
using test::chain_model;
using test::problem_of;

constexpr Memory unit(1'000'000);

TEST(PositionNetwork, HasARowForEachKindAndStage) {
  pipeline::Model model = chain_model("a", {0, 1}, 3, 1, 2);
  model.weight_gradient.assign(2, Ticks(1));
  model.weight_activation.assign(2, Memory(400'000));
  model.minibatches = 2;
  const PositionNetwork network = position_network(problem_of(2, {model}));
  ASSERT_EQ(network.rows.size(), 8U) << "F, I, W, S on two stages";
  EXPECT_EQ(network.size(), 2U * (6 + 6 + 6 + 2));
  EXPECT_EQ(network.rows[0].change, unit);
  EXPECT_EQ(network.rows[1].change, Memory(-600'000));
  EXPECT_EQ(network.rows[2].change, Memory(-400'000));
  EXPECT_EQ(network.rows[3].size(), 2);
}

TEST(PositionNetwork, PositionsCorrespondBothWays) {
  pipeline::Model model = chain_model("a", {0}, 3, 1, 2);
  model.minibatches = 2;
  const PositionNetwork network = position_network(problem_of(1, {model}));
  for (const RowArc& arc : network.arcs) {
    int pairs = 0;
    for (std::int32_t position = 0; position < network.rows[static_cast<std::size_t>(arc.from)].size(); ++position) {
      const auto there = forward_along(network, arc, position);
      if (!there) continue;
      EXPECT_EQ(backward_along(network, arc, *there), position);
      ++pairs;
    }
    const int expected = arc.correspondence == Correspondence::same        ? 6
                         : arc.correspondence == Correspondence::into_step ? 2
                                                                           : 1;
    EXPECT_EQ(pairs, expected);
  }
}

/// Counts the arcs of this kind that enter the rows of a network.
std::int64_t count_arcs(const PositionNetwork& network, Correspondence correspondence) {
  return std::count_if(network.arcs.begin(), network.arcs.end(),
                       [&](const RowArc& arc) { return arc.correspondence == correspondence; });
}

TEST(PositionNetwork, StepsWaitAsTheModelSpecifies) {
  pipeline::Model model = chain_model("a", {0, 1, 2}, 2, 1, 2);
  model.replicas.push_back({DeviceId(3), DeviceId(4), DeviceId(5)});
  model.minibatches = 2;
  const auto arcs = [&](Correspondence correspondence) {
    return count_arcs(position_network(problem_of(6, {model})), correspondence);
  };
  EXPECT_EQ(arcs(Correspondence::into_step), 6 * 2) << "each stage of two replicas on itself in both";
  EXPECT_EQ(arcs(Correspondence::out_of_step), 6);
  model.step_after = pipeline::StepAfter::model;
  EXPECT_EQ(arcs(Correspondence::into_step), 2 * (2 + 3 + 3)) << "on stage 0 in both, and on itself in its own replica";
  model.step_before = pipeline::StepBefore::replicas;
  EXPECT_EQ(arcs(Correspondence::out_of_step), 6 * 2);
  model.weight_gradient = model.backward;
  model.weight_activation = model.activation;
  EXPECT_EQ(arcs(Correspondence::into_step), 6 * 6) << "weight gradients of all stages in both";
}

TEST(FirstWindows, LimitMicrobatchesInFlight) {
  // Two stages with memory for one micro-batch: each waits for the previous one to come back.
  const PositionNetwork network = position_network(problem_of(2, {chain_model("a", {0, 1}, 3, 1, 2)}));
  std::int64_t work = 0;
  const Windows windows = first_windows(network, Ticks(18), {unit, unit}, work);
  EXPECT_FALSE(windows.impossible);
  for (int position = 0; position < 3; ++position) {
    EXPECT_EQ(windows.from[static_cast<std::size_t>(position)], Ticks(6 * position));
    EXPECT_EQ(windows.until[static_cast<std::size_t>(position)], Ticks(6 * position + 1));
  }
  EXPECT_TRUE(first_windows(network, Ticks(17), {unit, unit}, work).impossible);
  EXPECT_FALSE(first_windows(network, Ticks(17), {unit * 2, unit}, work).impossible);
  EXPECT_GT(work, 0);
}

TEST(PipelineStates, AreTheCountsThatFit) {
  const PositionNetwork network = position_network(problem_of(1, {chain_model("a", {0}, 3, 1, 2)}));
  // 0 <= forwards - backwards <= 1, or <= 3 with memory for all.
  EXPECT_EQ(pipeline_states(network, DeviceId(0), PipelineId(0), unit, 100)->size(), 7U);
  const auto all = pipeline_states(network, DeviceId(0), PipelineId(0), unit * 3, 100);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 10U);
  EXPECT_EQ(all->transitions.size(), 12U);
  for (std::size_t state = 0; state < all->size(); ++state)
    for (const auto& transition : all->transitions_of(state)) EXPECT_GT(static_cast<std::size_t>(transition.to), state);
  EXPECT_FALSE(pipeline_states(network, DeviceId(0), PipelineId(0), unit * 3, 9)) << "too many";
  const auto none = pipeline_states(network, DeviceId(0), PipelineId(0), unit - Memory(1), 9);
  ASSERT_TRUE(none);
  EXPECT_EQ(none->size(), 0U);
}

TEST(PipelineStates, KeepTheOrderOfStagesAndSteps) {
  pipeline::Model model = chain_model("v", {0, 0}, 1, 1, 1);
  model.minibatches = 2;
  const PositionNetwork network = position_network(problem_of(1, {model}));
  // F F B B in sequence, then the two optimizer steps in either order or only one of them. The first F of the next
  // mini-batch may come in between. In each state the counts of a step's predecessors are complete.
  const auto states = pipeline_states(network, DeviceId(0), PipelineId(0), unit * 2, 1000);
  ASSERT_TRUE(states);
  for (std::size_t state = 0; state < states->size(); ++state) {
    const std::int32_t* counts = states->counts_of(state);  // F, B, S of stage 0, then of stage 1
    EXPECT_LE(counts[3], counts[0]);
    EXPECT_LE(counts[4], counts[3]);
    EXPECT_LE(counts[1], counts[4]);
    EXPECT_LE(counts[2], counts[1]);
    EXPECT_LE(counts[0], counts[2] + 1);
    EXPECT_LE(counts[3], counts[5] + 1);
  }
}

TEST(DeviceSequencing, FindsWhatAllSequencesShare) {
  // One device. Until 6, the long pair (2 + 2) and the short pair (1 + 1) leave no idle time. With memory for one at a
  // time there are only two orders: the short pair does not start at 1, 3 or 5.
  const Problem problem = problem_of(1, {chain_model("long", {0}, 1, 2, 2), chain_model("short", {0}, 1, 1, 1)});
  const PositionNetwork network = position_network(problem);
  const auto large = pipeline_states(network, DeviceId(0), PipelineId(0), unit, 100);
  const auto small = pipeline_states(network, DeviceId(0), PipelineId(1), unit, 100);
  std::int64_t work = 0;
  Windows windows = first_windows(network, Ticks(6), {unit}, work);
  WindowPropagation propagation(network, windows);
  propagation.raise_from(2, Ticks(1));  // the short forward
  DeviceSequencing sequencing;
  EXPECT_TRUE(sequencing.tighten(network, {&*large, &*small}, unit, 1000, propagation).done);
  EXPECT_FALSE(windows.impossible);
  EXPECT_EQ(windows.from[2], Ticks(4));
  EXPECT_EQ(windows.until[0], Ticks(2));
  EXPECT_EQ(windows.until[1], Ticks(4));
  propagation.lower_until(2, Ticks(4));
  sequencing.tighten(network, {&*large, &*small}, unit, 1000, propagation);
  EXPECT_TRUE(windows.impossible);
}

TEST(DeviceSequencing, GivesUpOnTooManyStates) {
  const Problem problem = problem_of(1, {chain_model("a", {0}, 3, 2, 2), chain_model("b", {0}, 3, 1, 1)});
  const PositionNetwork network = position_network(problem);
  const auto a = pipeline_states(network, DeviceId(0), PipelineId(0), unit * 9, 100);
  const auto b = pipeline_states(network, DeviceId(0), PipelineId(1), unit * 9, 100);
  std::int64_t work = 0;
  Windows windows = first_windows(network, Ticks(18), {unit * 9}, work);
  WindowPropagation propagation(network, windows);
  DeviceSequencing sequencing;
  EXPECT_FALSE(sequencing.tighten(network, {&*a, &*b}, unit * 9, 50, propagation).done);
  EXPECT_TRUE(sequencing.tighten(network, {&*a, &*b}, unit * 9, 100, propagation).done);
}

TEST(ActivationLevels, AreSumsOfStageActivations) {
  pipeline::Model large = chain_model("large", {0}, 3, 1, 1);
  large.activation = {Memory(1'950'000)};
  pipeline::Model small = chain_model("small", {0}, 2, 1, 1);
  small.activation = {Memory(2'000'000)};
  const ActivationLevels levels(problem_of(1, {large, small}));
  EXPECT_EQ(levels.at_or_above(Memory(0)), Memory(0));
  EXPECT_EQ(levels.at_or_above(Memory(1)), Memory(1'950'000));
  EXPECT_EQ(levels.at_or_above(Memory(1'950'001)), Memory(2'000'000));
  EXPECT_EQ(levels.at_or_above(Memory(4'000'001)), Memory(5'850'000));
  EXPECT_EQ(levels.at_or_above(Memory(9'850'000)), Memory(9'850'000));
  EXPECT_EQ(levels.at_or_above(Memory(9'850'001)), std::nullopt);
}

TEST(ActivationLevels, UseTheDeviceWithTheNextLevel) {
  pipeline::Model model = chain_model("a", {0, 1}, 4, 1, 1);
  model.activation = {Memory(5), Memory(3)};
  const ActivationLevels levels(problem_of(2, {model}));
  EXPECT_EQ(levels.at_or_above(Memory(4)), Memory(5));
  EXPECT_EQ(levels.at_or_above(Memory(6)), Memory(6));
  EXPECT_EQ(levels.at_or_above(Memory(13)), Memory(15));
}

bool refutes(const Problem& problem, Ticks deadline, Memory cap, ProofDepth depth) {
  ProofBudget budget{300'000};
  return Refutation(problem).refutes(deadline, std::vector<Memory>(static_cast<std::size_t>(problem.devices), cap),
                                     depth, budget);
}

TEST(RefutationOracle, CasesDecideSmallProblemsWithoutFalseRefutations) {
  test::RandomProblemOptions options;
  options.max_ops = 16;
  int decided = 0;
  int by_sequences = 0;
  for (std::uint64_t seed = 5000; seed < 5700; ++seed) {
    const Problem problem = test::random_problem(seed, options);
    const auto optimum =
        test::brute_force(pipeline::lower(problem, pipeline::BackwardForm::split).graph, {.max_steps = 50'000});
    if (!optimum) continue;
    for (const ProofDepth depth : {ProofDepth::windows, ProofDepth::sequences, ProofDepth::cases})
      ASSERT_FALSE(refutes(problem, optimum->makespan, optimum->peak_at_makespan, depth)) << "seed " << seed;
    ASSERT_TRUE(refutes(problem, optimum->makespan, optimum->peak_at_makespan - Memory(1), ProofDepth::cases))
        << "seed " << seed;
    ASSERT_TRUE(refutes(problem, optimum->makespan - Ticks(1), Memory::max(), ProofDepth::cases)) << "seed " << seed;
    by_sequences +=
        refutes(problem, optimum->makespan, optimum->peak_at_makespan - Memory(1), ProofDepth::sequences) ? 1 : 0;
    ++decided;
  }
  EXPECT_GT(decided, 600);
  EXPECT_GT(by_sequences, decided * 9 / 10);
}

RC_GTEST_PROP(RefutationProperty, RefutationsHoldForTighterLimits, ()) {
  test::RandomProblemOptions options;
  options.max_ops = 40;
  const Problem problem = *test::problems(options);
  const Ticks deadline = *rc::gen::map(rc::gen::inRange(5, 120), [](int ticks) { return Ticks(ticks); });
  const Memory cap = *rc::gen::map(rc::gen::inRange(0, 12), [](int units) { return unit * units; });
  if (!refutes(problem, deadline, cap, ProofDepth::sequences)) return;
  RC_ASSERT(refutes(problem, deadline - Ticks(1), cap, ProofDepth::sequences));
  RC_ASSERT(refutes(problem, deadline, cap - Memory(1), ProofDepth::sequences));
  RC_ASSERT(refutes(problem, deadline, cap, ProofDepth::cases));
}

TEST(Refutation, StopsWhenItsBudgetIsSpent) {
  const Problem& problem = pipeline::find_instance("exp0")->problem;
  const std::vector<Memory> headroom(8, Memory(13'650'000));
  Refutation refutation(problem);
  ProofBudget little{50'000};
  EXPECT_FALSE(refutation.refutes(Ticks(708), headroom, ProofDepth::cases, little));
  EXPECT_TRUE(little.spent());
  ProofBudget enough{20'000'000};
  EXPECT_TRUE(refutation.refutes(Ticks(708), headroom, ProofDepth::cases, enough));
  EXPECT_FALSE(enough.spent());
}

}  // namespace
}  // namespace dovetail::fuse
