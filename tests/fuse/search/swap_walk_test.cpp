// The walk against the evaluator and against longest paths computed afresh, after every swap and before it.
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
#include "fuse/search/search_order.h"
#include "pipeline/instances.h"
#include "pipeline/validate.h"
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
using Node = SwapWalk::Node;

Lowering lower_split(const Problem& problem) { return pipeline::lower(problem, pipeline::BackwardForm::split); }

Order order_by(Answer (*solve)(const Problem&, const SolveOptions&), const Problem& problem, const Lowering& lowering) {
  return search_order(lowering, std::get<Solution>(solve(problem, {})));
}

/// The same problem as the searches see it: capacities are not the walk's business.
Problem without_capacity(Problem problem) {
  problem.capacity.reset();
  return problem;
}

/// The graph with an edge between neighbours on a device: its longest paths are those of the schedule.
OpGraph with_device_edges(const OpGraph& graph, const Order& order) {
  std::vector<pipeline::Precedence> edges;
  for (const auto& device : order.devices)
    for (std::size_t i = 1; i < device.size(); ++i) edges.push_back({device[i - 1], device[i], Ticks(0)});
  return pipeline::with_predecessors(graph, edges);
}

/// [op] what is held on its device right behind it in the order.
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

/// The first thing that `walk` says and that is not so, or nothing.
std::string_view first_lie(const SwapWalk& walk, const OpGraph& graph) {
  const Order order = walk.order();
  const auto evaluation = pipeline::evaluate(graph, order);
  if (!evaluation.ok()) return "order";
  if (walk.makespan() != evaluation->makespan.count()) return "makespan";
  if (walk.peak() != evaluation->peak_activation.count()) return "peak";
  const std::vector<Ticks> tails = pipeline::longest_tails(with_device_edges(graph, order));
  const std::vector<std::int64_t> levels = levels_of(graph, order);
  for (std::size_t op = 0; op < graph.size(); ++op) {
    const auto node = static_cast<Node>(op);
    if (walk.head(node) != evaluation->start[op].count()) return "head";
    if (walk.tail(node) != (tails[op] + graph.duration[op]).count()) return "tail";
    if (walk.level(node) != levels[op]) return "level";
    if (walk.device(node) != graph.device[op].value) return "device";
  }
  for (const auto& device : order.devices)
    for (std::size_t i = 0; i < device.size(); ++i) {
      const Node next = walk.next(device[i].value);
      if (walk.is_none(next) != (i + 1 == device.size())) return "end of a device";
      if (i + 1 < device.size() && next != device[i + 1].value) return "next";
    }
  return "";
}

Order swapped(Order order, const OpGraph& graph, Node first) {
  std::vector<OpId>& device = order.devices[graph.device[static_cast<std::size_t>(first)].index()];
  const auto place = std::find(device.begin(), device.end(), OpId(first));
  std::iter_swap(place, place + 1);
  return order;
}

/// A random pair of unlike neighbours; nothing where the op that was drawn has none behind it.
std::optional<std::pair<Node, Node>> draw_neighbours(const SwapWalk& walk, base::Random& random) {
  const auto first = static_cast<Node>(random.below(walk.ops()));
  const Node second = walk.next(first);
  if (walk.is_none(second) || walk.alike(first, second)) return std::nullopt;
  return std::pair(first, second);
}

/// Makes a random swap, if the one drawn makes no cycle.
bool swap_randomly(SwapWalk& walk, base::Random& random) {
  const auto pair = draw_neighbours(walk, random);
  if (!pair || walk.makes_cycle(pair->first, pair->second)) return false;
  walk.swap(pair->first, pair->second, walk.try_swap(pair->first, pair->second));
  return true;
}

/// The first thing that is said of the swap of `first` and `second` before it is made and that is not so, or nothing.
std::string_view first_false_promise(SwapWalk& walk, const OpGraph& graph, Node first, Node second) {
  const Order order = swapped(walk.order(), graph, first);
  const auto evaluation = pipeline::evaluate(graph, order);
  if (walk.makes_cycle(first, second) == evaluation.ok()) return "makes_cycle";
  if (walk.is_prompt(first, second) && !evaluation.ok()) return "is_prompt";
  if (!evaluation.ok()) return "";
  const SwapWalk::Trial trial = walk.try_swap(first, second);
  if (trial.longest > walk.makespan() ? trial.longest != evaluation->makespan.count() : evaluation->makespan.count() > walk.makespan())
    return "longest";
  const std::vector<Ticks> tails = pipeline::longest_tails(with_device_edges(graph, order));
  const auto tail_of = [&](Node op) {
    return (tails[static_cast<std::size_t>(op)] + graph.duration[static_cast<std::size_t>(op)]).count();
  };
  const auto head_of = [&](Node op) { return evaluation->start[static_cast<std::size_t>(op)].count(); };
  if (trial.head_first != head_of(first) || trial.head_second != head_of(second)) return "heads";
  if (trial.tail_first != tail_of(first) || trial.tail_second != tail_of(second)) return "tails";
  std::vector<std::int64_t> levels = levels_of(graph, walk.order());
  levels[static_cast<std::size_t>(first)] = walk.level(second);
  levels[static_cast<std::size_t>(second)] = walk.level_between(first, second);
  return levels == levels_of(graph, order) ? "" : "level_between";
}

RC_GTEST_PROP(SwapWalk, StartsAtTheOrderItIsGiven, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  for (const auto solve : {solve_one_at_a_time, solve_greedy}) {
    const Order order = order_by(solve, problem, lowering);
    const SwapWalk walk(lowering.graph, order);
    RC_ASSERT(walk.ops() == lowering.graph.size());
    RC_ASSERT(walk.devices() == problem.devices);
    RC_ASSERT(walk.order().devices == order.devices);
    RC_ASSERT(first_lie(walk, lowering.graph) == "");
  }
}

RC_GTEST_PROP(SwapWalk, KnowsEverySwapBeforeAndAfterIt, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  SwapWalk walk(lowering.graph, order_by(solve_one_at_a_time, problem, lowering));
  base::Random random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()), 0);
  for (int step = 0; step < 60; ++step) {
    const auto pair = draw_neighbours(walk, random);
    if (!pair) continue;
    const auto [first, second] = *pair;
    RC_ASSERT(first_false_promise(walk, lowering.graph, first, second) == "");
    if (walk.makes_cycle(first, second)) continue;
    walk.swap(first, second, walk.try_swap(first, second));
    RC_ASSERT(first_lie(walk, lowering.graph) == "");
  }
}

RC_GTEST_PROP(SwapWalk, LosesNoPrecedence, ()) {
  // Many swaps without a look at the makespan: whatever order that reaches is a valid schedule.
  const Problem problem = without_capacity(*test::problems());
  const Lowering lowering = lower_split(problem);
  SwapWalk walk(lowering.graph, order_by(solve_one_at_a_time, problem, lowering));
  base::Random random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()), 0);
  for (int round = 0; round < 3; ++round) {
    for (int step = 0; step < 500; ++step) swap_randomly(walk, random);
    RC_ASSERT(first_lie(walk, lowering.graph) == "");
    const auto evaluation = pipeline::evaluate(lowering.graph, walk.order());
    RC_ASSERT(!pipeline::validate(pipeline::to_schedule(problem, lowering.graph, *evaluation)).has_value());
  }
}

RC_GTEST_PROP(SwapWalk, LikeOpsKeepTheirOrder, ()) {
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
        RC_ASSERT(walk.alike(device[a].value, device[b].value) == same);
        const bool in_order = !same || labels[device[a].index()].microbatch < labels[device[b].index()].microbatch;
        RC_ASSERT(in_order);
      }
}

RC_GTEST_PROP(SwapWalk, ResetIsAFreshWalk, ()) {
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
  RC_ASSERT(first_lie(walk, lowering.graph) == "");
  // It also goes on as a fresh one does.
  base::Random again(seed, 0);
  for (int step = 0; step < 100; ++step) swap_randomly(walk, again);
  RC_ASSERT(walk.order().devices == away.devices);
}

RC_GTEST_PROP(SwapWalk, ASwapIsUndoneByAnother, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  SwapWalk walk(lowering.graph, order_by(solve_one_at_a_time, problem, lowering));
  base::Random random(*rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()), 0);
  for (int step = 0; step < 50; ++step) {
    const auto pair = draw_neighbours(walk, random);
    if (!pair || walk.makes_cycle(pair->first, pair->second)) continue;
    const Order before = walk.order();
    walk.swap(pair->first, pair->second, walk.try_swap(pair->first, pair->second));
    RC_ASSERT(!walk.makes_cycle(pair->second, pair->first));
    walk.swap(pair->second, pair->first, walk.try_swap(pair->second, pair->first));
    RC_ASSERT(walk.order().devices == before.devices);
    RC_ASSERT(first_lie(walk, lowering.graph) == "");
  }
}

/// Large problems of each kind: thousands of swaps, of which some lengthen the schedule and others shorten it.
class SwapWalkOnInstances : public testing::TestWithParam<std::string_view> {};

TEST_P(SwapWalkOnInstances, StaysTrue) {
  const Problem& problem = pipeline::find_instance(GetParam())->problem;
  const Lowering lowering = lower_split(problem);
  SwapWalk walk(lowering.graph, order_by(solve_greedy, problem, lowering));
  base::Random random(1, 0);
  const std::int64_t deadline = walk.makespan() + walk.makespan() / 10;
  int made = 0;
  for (int proposal = 1; proposal <= 60'000; ++proposal) {
    const auto pair = draw_neighbours(walk, random);
    if (!pair) continue;
    const SwapWalk::Trial trial = walk.try_swap(pair->first, pair->second);
    if (trial.longest > deadline || walk.makes_cycle(pair->first, pair->second)) continue;
    walk.swap(pair->first, pair->second, trial);
    ASSERT_LE(walk.makespan(), deadline);
    if (++made % 500 != 0) continue;
    ASSERT_EQ(first_lie(walk, lowering.graph), "") << made << " swaps";
  }
  EXPECT_GE(made, 2'000);
}

INSTANTIATE_TEST_SUITE_P(Bundled, SwapWalkOnInstances,
                         testing::Values("exp5", "exp8", "three-models-1", "uneven-stages-1", "transfer-1", "split-backward-1",
                                         "split-backward-5", "minibatches-1", "minibatches-5", "capacity-1"));

TEST(SwapWalk, HasOneOpOnly) {
  Problem problem = test::problem_of(1, {test::chain_model("a", {0}, 1, 2, 3)});
  const Lowering lowering = lower_split(problem);
  SwapWalk walk(lowering.graph, order_by(solve_one_at_a_time, problem, lowering));
  EXPECT_EQ(walk.makespan(), 5);
  EXPECT_EQ(walk.peak(), 1'000'000);
  EXPECT_TRUE(walk.makes_cycle(0, 1)) << "a backward waits for its forward";
}

TEST(SwapWalk, SeesACycleThroughOtherDevices) {
  // Device 0: F of stage 0, then B of stage 0; they are no neighbours in the graph but the second waits for the first by way of device 1.
  const Problem problem = test::problem_of(2, {test::chain_model("a", {0, 1, 0}, 1, 1, 1)});
  const Lowering lowering = lower_split(problem);
  SwapWalk walk(lowering.graph, order_by(solve_one_at_a_time, problem, lowering));
  // F of stage 0 leads to F of stage 2 by way of F of stage 1.
  const Node first = lowering.ops(base::PipelineId(0), base::StageId(0), base::MicrobatchId(0)).forward.value;
  const Node second = lowering.ops(base::PipelineId(0), base::StageId(2), base::MicrobatchId(0)).forward.value;
  ASSERT_EQ(walk.next(first), second);
  EXPECT_TRUE(walk.makes_cycle(first, second));
}

TEST(SwapWalk, StepsOfNoDurationHideNoCycle) {
  // All that takes no time shares its instant with what it waits for and with what waits for it.
  Problem problem = test::problem_of(2, {test::chain_model("a", {0, 1}, 2, 1, 1), test::chain_model("b", {1, 0}, 2, 1, 1)});
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
    const auto pair = draw_neighbours(walk, random);
    if (!pair) continue;
    ASSERT_EQ(first_false_promise(walk, lowering.graph, pair->first, pair->second), "");
    if (walk.makes_cycle(pair->first, pair->second))
      ++cycles;
    else
      walk.swap(pair->first, pair->second, walk.try_swap(pair->first, pair->second));
  }
  EXPECT_GE(cycles, 50);
}

TEST(SwapWalkDeathTest, AnOrderThatWaitsForItselfIsABug) {
  const Problem problem = test::problem_of(1, {test::chain_model("a", {0}, 1, 2, 3)});
  const Lowering lowering = lower_split(problem);
  Order order = order_by(solve_one_at_a_time, problem, lowering);
  std::reverse(order.devices[0].begin(), order.devices[0].end());
  EXPECT_DEATH(SwapWalk(lowering.graph, order), "sorted.size\\(\\) == waits.size\\(\\)");
}

}  // namespace
}  // namespace dovetail::fuse
