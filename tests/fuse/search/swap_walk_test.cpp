// Compares the walk with the evaluator and with longest paths computed from scratch, after every swap and before it.
#include "fuse/search/swap_walk.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "fuse/constructions/constructions.h"
#include "fuse/search/search.h"
#include "pipeline/problem/instances.h"
#include "pipeline/schedule/validate.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using base::Ticks;
using pipeline::Lowering;
using pipeline::OpGraph;
using pipeline::OpId;
using pipeline::Order;
using pipeline::Problem;
using Place = SwapWalk::Place;

Lowering lower_split(const Problem& problem) { return pipeline::lower(problem, pipeline::BackwardForm::split); }

Order order_by(Answer (*solve)(const Problem&, const SolveOptions&), const Problem& problem, const Lowering& lowering) {
  return search_order(lowering, std::get<Solution>(solve(problem, {})));
}

/// Returns the problem without capacities, which the walk ignores.
Problem without_capacity(Problem problem) {
  problem.capacity.reset();
  return problem;
}

/// Adds an edge between neighbors on a device. The longest paths of the result are those of the schedule.
OpGraph with_device_edges(const OpGraph& graph, const Order& order) {
  std::vector<pipeline::Precedence> edges;
  for (const auto& device : order.devices)
    for (std::size_t i = 1; i < device.size(); ++i) edges.push_back({device[i - 1], device[i], Ticks(0)});
  return pipeline::with_predecessors(graph, edges);
}

/// [op] memory held on its device right after it in the order.
std::vector<std::int64_t> levels_of(const OpGraph& graph, const Order& order) {
  std::vector<std::int64_t> levels(graph.size());
  for (const auto& device : order.devices) {
    std::int64_t held = 0;
    for (const OpId op : device) {
      held += graph.acquire[op.index()].count() - graph.release[op.index()].count();
      levels[op.index()] = held;
    }
  }
  return levels;
}

/// Returns the place of the op with this number.
Place place_of(const SwapWalk& walk, std::int32_t op) {
  Place place = 0;
  while (walk.op(place) != op) ++place;
  return place;
}

/// Returns the first property of `walk` that is wrong, or an empty string.
std::string_view first_inconsistency(const SwapWalk& walk, const OpGraph& graph) {
  const Order order = walk.order();
  const auto evaluation = pipeline::evaluate(graph, order);
  if (!evaluation.ok()) return "order";
  if (walk.makespan() != evaluation->makespan.count()) return "makespan";
  if (walk.peak() != evaluation->peak_activation.count()) return "peak";
  const std::vector<Ticks> tails = pipeline::max_tails(with_device_edges(graph, order));
  const std::vector<std::int64_t> levels = levels_of(graph, order);
  std::size_t found = 0;
  for (std::uint32_t i = 0; i < walk.places(); ++i) {
    const auto place = static_cast<Place>(i);
    if (walk.op(place) < 0) continue;
    const auto op = static_cast<std::size_t>(walk.op(place));
    ++found;
    if (walk.head(place) != evaluation->start[op].count()) return "head";
    if (walk.tail(place) != (tails[op] + graph.duration[op]).count()) return "tail";
    if (walk.level(place) != levels[op]) return "level";
    if (walk.device(place) != graph.device[op].value) return "device";
  }
  if (found != graph.size()) return "places";
  for (const auto& device : order.devices)
    for (std::size_t i = 0; i < device.size(); ++i) {
      const std::int32_t after = walk.op(place_of(walk, device[i].value) + 1);
      if (after != (i + 1 < device.size() ? device[i + 1].value : -1)) return "next op";
    }
  return "";
}

Order swapped(Order order, const OpGraph& graph, std::int32_t first) {
  std::vector<OpId>& device = order.devices[graph.device[static_cast<std::size_t>(first)].index()];
  const auto place = std::find(device.begin(), device.end(), OpId(first));
  std::iter_swap(place, place + 1);
  return order;
}

/// Draws the place of a random pair of unlike neighbors. Returns nullopt if the place drawn has none.
std::optional<Place> draw_neighbours(const SwapWalk& walk, base::Random& random) {
  const auto first = static_cast<Place>(random.below(walk.places()));
  if (!walk.can_swap(first)) return std::nullopt;
  return first;
}

/// Makes a random swap unless it makes a cycle.
bool swap_randomly(SwapWalk& walk, base::Random& random) {
  const auto first = draw_neighbours(walk, random);
  if (!first || walk.makes_cycle(*first)) return false;
  walk.swap(*first, walk.try_swap(*first));
  return true;
}

/// Returns the first wrong prediction for the swap of the op at `place` and the next one, or an empty string.
std::string_view first_wrong_prediction(SwapWalk& walk, const OpGraph& graph, Place place) {
  const auto first = static_cast<std::size_t>(walk.op(place));
  const auto second = static_cast<std::size_t>(walk.op(place + 1));
  const Order order = swapped(walk.order(), graph, walk.op(place));
  const auto evaluation = pipeline::evaluate(graph, order);
  if (walk.makes_cycle(place) == evaluation.ok()) return "makes_cycle";
  if (walk.is_prompt(place) && !evaluation.ok()) return "is_prompt";
  if (!evaluation.ok()) return "";
  const SwapWalk::Trial trial = walk.try_swap(place);
  if (trial.longest > walk.makespan() ? trial.longest != evaluation->makespan.count()
                                      : evaluation->makespan.count() > walk.makespan())
    return "longest";
  const std::vector<Ticks> tails = pipeline::max_tails(with_device_edges(graph, order));
  const auto tail_of = [&](std::size_t op) { return (tails[op] + graph.duration[op]).count(); };
  const auto end_of = [&](std::size_t op) { return (evaluation->start[op] + graph.duration[op]).count(); };
  if (trial.end_first != end_of(first) || trial.end_second != end_of(second)) return "ends";
  if (trial.tail_first != tail_of(first) || trial.tail_second != tail_of(second)) return "tails";
  std::vector<std::int64_t> levels = levels_of(graph, walk.order());
  levels[first] = walk.level(place + 1);
  levels[second] = walk.level_between(place);
  return levels == levels_of(graph, order) ? "" : "level_between";
}

RC_GTEST_PROP(SwapWalk, StartsAtTheGivenOrder, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  for (const auto solve : {solve_one_at_a_time, solve_greedy}) {
    const Order order = order_by(solve, problem, lowering);
    const SwapWalk walk(lowering.graph, order);
    RC_ASSERT(walk.places() >= lowering.graph.size());
    RC_ASSERT(walk.devices() == problem.devices);
    RC_ASSERT(walk.order().devices == order.devices);
    RC_ASSERT(first_inconsistency(walk, lowering.graph) == "");
  }
}

RC_GTEST_PROP(SwapWalk, PredictsEverySwap, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  SwapWalk walk(lowering.graph, order_by(solve_one_at_a_time, problem, lowering));
  base::Random random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()), 0);
  for (int step = 0; step < 60; ++step) {
    const auto first = draw_neighbours(walk, random);
    if (!first) continue;
    RC_ASSERT(first_wrong_prediction(walk, lowering.graph, *first) == "");
    if (walk.makes_cycle(*first)) continue;
    walk.swap(*first, walk.try_swap(*first));
    RC_ASSERT(first_inconsistency(walk, lowering.graph) == "");
  }
}

RC_GTEST_PROP(SwapWalk, LosesNoPrecedence, ()) {
  // Many swaps regardless of the makespan: every order they reach is a valid schedule.
  const Problem problem = without_capacity(*test::problems());
  const Lowering lowering = lower_split(problem);
  SwapWalk walk(lowering.graph, order_by(solve_one_at_a_time, problem, lowering));
  base::Random random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()), 0);
  for (int round = 0; round < 3; ++round) {
    for (int step = 0; step < 500; ++step) swap_randomly(walk, random);
    RC_ASSERT(first_inconsistency(walk, lowering.graph) == "");
    const auto evaluation = pipeline::evaluate(lowering.graph, walk.order());
    RC_ASSERT(!pipeline::validate(pipeline::to_schedule(problem, lowering.graph, *evaluation)).has_value());
  }
}

RC_GTEST_PROP(SwapWalk, AlikeOpsKeepTheirOrder, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  SwapWalk walk(lowering.graph, order_by(solve_greedy, problem, lowering));
  base::Random random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()), 0);
  for (int step = 0; step < 300; ++step) swap_randomly(walk, random);
  const auto class_of = [](pipeline::OpLabel label) {
    label.microbatch = base::MicrobatchId(0);
    return label;
  };
  const std::vector<pipeline::OpLabel>& labels = lowering.graph.labels;
  for (const auto& device : walk.order().devices)
    for (std::size_t a = 0; a < device.size(); ++a)
      for (std::size_t b = a + 1; b < device.size(); ++b) {
        const bool same = class_of(labels[device[a].index()]) == class_of(labels[device[b].index()]);
        if (b == a + 1) RC_ASSERT(walk.can_swap(place_of(walk, device[a].value)) == !same);
        const bool in_order = !same || labels[device[a].index()].microbatch < labels[device[b].index()].microbatch;
        RC_ASSERT(in_order);
      }
}

RC_GTEST_PROP(SwapWalk, ResetEqualsANewWalk, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  const Order order = order_by(solve_one_at_a_time, problem, lowering);
  SwapWalk walk(lowering.graph, order);
  const std::uint64_t seed = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
  base::Random random(seed, 0);
  for (int step = 0; step < 100; ++step) swap_randomly(walk, random);
  const Order away = walk.order();
  walk.reset(order);
  RC_ASSERT(walk.order().devices == order.devices);
  RC_ASSERT(first_inconsistency(walk, lowering.graph) == "");
  // It also continues as a new one does.
  base::Random again(seed, 0);
  for (int step = 0; step < 100; ++step) swap_randomly(walk, again);
  RC_ASSERT(walk.order().devices == away.devices);
}

RC_GTEST_PROP(SwapWalk, RepeatingASwapUndoesIt, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  SwapWalk walk(lowering.graph, order_by(solve_one_at_a_time, problem, lowering));
  base::Random random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()), 0);
  for (int step = 0; step < 50; ++step) {
    const auto first = draw_neighbours(walk, random);
    if (!first || walk.makes_cycle(*first)) continue;
    const Order before = walk.order();
    walk.swap(*first, walk.try_swap(*first));
    RC_ASSERT(!walk.makes_cycle(*first));
    walk.swap(*first, walk.try_swap(*first));
    RC_ASSERT(walk.order().devices == before.devices);
    RC_ASSERT(first_inconsistency(walk, lowering.graph) == "");
  }
}

/// Large problems of each kind: thousands of swaps, some of which lengthen the schedule and others shorten it.
class SwapWalkOnInstances : public testing::TestWithParam<std::string_view> {};

TEST_P(SwapWalkOnInstances, StaysConsistent) {
  const Problem& problem = pipeline::find_instance(GetParam())->problem;
  const Lowering lowering = lower_split(problem);
  SwapWalk walk(lowering.graph, order_by(solve_greedy, problem, lowering));
  base::Random random(1, 0);
  const std::int64_t deadline = walk.makespan() + walk.makespan() / 10;
  int made = 0;
  for (int proposal = 1; proposal <= 60'000; ++proposal) {
    const auto first = draw_neighbours(walk, random);
    if (!first) continue;
    const SwapWalk::Trial trial = walk.try_swap(*first);
    if (trial.longest > deadline || walk.makes_cycle(*first)) continue;
    walk.swap(*first, trial);
    ASSERT_LE(walk.makespan(), deadline);
    if (++made % 500 != 0) continue;
    ASSERT_EQ(first_inconsistency(walk, lowering.graph), "") << made << " swaps";
  }
  EXPECT_GE(made, 2'000);
}

INSTANTIATE_TEST_SUITE_P(Bundled, SwapWalkOnInstances,
                         testing::Values("exp5", "exp8", "three-models-1", "uneven-stages-1", "transfer-1",
                                         "split-backward-1", "split-backward-5", "minibatches-1", "minibatches-5",
                                         "capacity-1"));

TEST(SwapWalk, HandlesASingleOp) {
  Problem problem = test::problem_of(1, {test::chain_model("a", {0}, 1, 2, 3)});
  const Lowering lowering = lower_split(problem);
  SwapWalk walk(lowering.graph, order_by(solve_one_at_a_time, problem, lowering));
  EXPECT_EQ(walk.makespan(), 5);
  EXPECT_EQ(walk.peak(), 1'000'000);
  EXPECT_TRUE(walk.makes_cycle(place_of(walk, 0))) << "a backward waits for its forward";
}

TEST(SwapWalk, SeesACycleThroughOtherDevices) {
  // Device 0: F of stage 0, then B of stage 0. They are not neighbors in the graph, but the second waits for the first
  // by way of device 1.
  const Problem problem = test::problem_of(2, {test::chain_model("a", {0, 1, 0}, 1, 1, 1)});
  const Lowering lowering = lower_split(problem);
  SwapWalk walk(lowering.graph, order_by(solve_one_at_a_time, problem, lowering));
  // F of stage 0 leads to F of stage 2 by way of F of stage 1.
  const Place first =
      place_of(walk, lowering.ops(base::PipelineId(0), base::StageId(0), base::MicrobatchId(0)).forward.value);
  ASSERT_EQ(walk.op(first + 1),
            lowering.ops(base::PipelineId(0), base::StageId(2), base::MicrobatchId(0)).forward.value);
  EXPECT_TRUE(walk.makes_cycle(first));
}

TEST(SwapWalk, ZeroDurationStepsHideNoCycle) {
  // All ops of zero duration share their instant with their predecessors and successors.
  Problem problem =
      test::problem_of(2, {test::chain_model("a", {0, 1}, 2, 1, 1), test::chain_model("b", {1, 0}, 2, 1, 1)});
  for (pipeline::Model& model : problem.models) {
    model.minibatches = 3;
    model.replicas.push_back({model.replicas[0][1], model.replicas[0][0]});
  }
  ASSERT_FALSE(pipeline::find_fault(problem));
  const Lowering lowering = lower_split(problem);
  SwapWalk walk(lowering.graph, order_by(solve_one_at_a_time, problem, lowering));
  base::Random random(1, 0);
  int cycles = 0;
  for (int proposal = 0; proposal < 3'000; ++proposal) {
    const auto first = draw_neighbours(walk, random);
    if (!first) continue;
    ASSERT_EQ(first_wrong_prediction(walk, lowering.graph, *first), "");
    if (walk.makes_cycle(*first))
      ++cycles;
    else
      walk.swap(*first, walk.try_swap(*first));
  }
  EXPECT_GE(cycles, 50);
}

TEST(SwapWalkDeathTest, AbortsOnADeadlockedOrder) {
  const Problem problem = test::problem_of(1, {test::chain_model("a", {0}, 1, 2, 3)});
  const Lowering lowering = lower_split(problem);
  Order order = order_by(solve_one_at_a_time, problem, lowering);
  std::reverse(order.devices[0].begin(), order.devices[0].end());
  EXPECT_DEATH(SwapWalk(lowering.graph, order), "sorted.size\\(\\) == ops_.size\\(\\)");
}

}  // namespace
}  // namespace dovetail::fuse
