#include "fuse/solution/variation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "parallel/cancellation.h"
#include "pipeline/schedule/evaluate.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using base::OpId;
using base::Ticks;
using pipeline::BackwardForm;
using pipeline::OpGraph;
using pipeline::OpKind;
using pipeline::Order;
using pipeline::Problem;
using test::chain_model;
using test::problem_of;

/// Returns an order of the ops that does not deadlock.
Order some_order(const OpGraph& graph) {
  Order order;
  order.devices.resize(static_cast<std::size_t>(graph.devices));
  for (const OpId op : pipeline::topological_order(graph))
    order.devices[graph.device[op.index()].index()].push_back(op);
  return order;
}

VariationOptions varied_by(int thousandths, int draws, std::uint64_t seed = 1) {
  VariationOptions options;
  options.thousandths = thousandths;
  options.draws = draws;
  options.seed = seed;
  return options;
}

bool equal(const Variation& a, const Variation& b) {
  return a.median_thousandths == b.median_thousandths && a.percentile_95_thousandths == b.percentile_95_thousandths;
}

/// A graph of one op that varies. Its variation shows single draws of its duration.
OpGraph one_forward(std::int64_t duration, int microbatch = 0) {
  OpGraph graph =
      pipeline::lower(problem_of(1, {chain_model("a", {0}, microbatch + 1, 1, 1)}), BackwardForm::whole).graph;
  for (Ticks& time : graph.duration) time = Ticks(0);
  for (std::size_t op = 0; op < graph.size(); ++op)
    if (graph.labels[op].kind == OpKind::F && graph.labels[op].microbatch.value == microbatch)
      graph.duration[op] = Ticks(duration);
  return graph;
}

std::int64_t one_draw(const OpGraph& graph, int thousandths, std::uint64_t seed) {
  return vary_durations(graph, some_order(graph), varied_by(thousandths, 1, seed)).median_thousandths;
}

RC_GTEST_PROP(VariationProperty, WithoutVariationIsTheMakespan, ()) {
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const OpGraph graph = pipeline::lower(test::random_problem(seed), BackwardForm::split).graph;
  const Order order = some_order(graph);
  const std::int64_t makespan = pipeline::evaluate(graph, order)->makespan.count();
  const Variation variation = vary_durations(graph, order, varied_by(0, 20));
  RC_ASSERT(variation.median_thousandths == 1000 * makespan);
  RC_ASSERT(variation.percentile_95_thousandths == 1000 * makespan);
}

RC_GTEST_PROP(VariationProperty, StaysWithinTheMakespansOfTheExtremes, ()) {
  test::RandomProblemOptions options;
  options.transfers = options.steps = false;
  const OpGraph graph =
      pipeline::lower(test::random_problem(*rc::gen::arbitrary<std::uint64_t>(), options), BackwardForm::split).graph;
  const Order order = some_order(graph);
  const std::int64_t makespan = pipeline::evaluate(graph, order)->makespan.count();
  const Variation variation = vary_durations(graph, order, varied_by(100, 50));
  RC_ASSERT(variation.median_thousandths >= 900 * makespan);
  RC_ASSERT(variation.median_thousandths <= variation.percentile_95_thousandths);
  RC_ASSERT(variation.percentile_95_thousandths <= 1100 * makespan);
}

/// Returns a graph with the durations that a draw gives to each op, in thousandths of a tick. They are found by hiding
/// all other ops.
OpGraph with_drawn_durations(const OpGraph& graph, int thousandths, std::uint64_t seed) {
  OpGraph drawn = graph;
  for (std::size_t op = 0; op < graph.size(); ++op) {
    OpGraph alone = graph;
    for (std::size_t other = 0; other < graph.size(); ++other)
      if (other != op) alone.duration[other] = Ticks(0);
    for (pipeline::Arc& arc : alone.predecessor_arcs) arc.lag = Ticks(0);
    for (pipeline::Arc& arc : alone.successor_arcs) arc.lag = Ticks(0);
    drawn.duration[op] = Ticks(one_draw(alone, thousandths, seed));
  }
  for (pipeline::Arc& arc : drawn.predecessor_arcs) arc.lag = arc.lag * 1000;
  for (pipeline::Arc& arc : drawn.successor_arcs) arc.lag = arc.lag * 1000;
  return drawn;
}

TEST(Variation, MatchesTheEvaluatorOnDrawnDurations) {
  test::RandomProblemOptions options;
  options.max_ops = 40;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const OpGraph graph = pipeline::lower(test::random_problem(seed, options), BackwardForm::split).graph;
    const OpGraph drawn = with_drawn_durations(graph, 200, seed);
    const Order order = some_order(graph);
    EXPECT_EQ(vary_durations(graph, order, varied_by(200, 1, seed)).median_thousandths,
              pipeline::evaluate(drawn, order)->makespan.count());
    for (std::size_t op = 0; op < graph.size(); ++op) {
      const std::int64_t exact = graph.duration[op].count() * 1000;
      EXPECT_GE(drawn.duration[op].count() * 10, exact * 8);
      EXPECT_LE(drawn.duration[op].count() * 10, exact * 12);
      if (graph.labels[op].kind == OpKind::S) {
        EXPECT_EQ(drawn.duration[op].count(), exact) << "steps do not vary";
      }
    }
  }
}

TEST(Variation, KeepsBarriers) {
  const OpGraph graph =
      pipeline::lower(problem_of(2, {chain_model("a", {0}, 1, 1, 2), chain_model("b", {1}, 1, 10, 20)}),
                      BackwardForm::whole)
          .graph;
  Order order = some_order(graph);
  EXPECT_EQ(vary_durations(graph, order, varied_by(0, 1)).median_thousandths, 30'000);
  order.barriers = {{OpId(1), OpId(2), Ticks(0)}};
  EXPECT_EQ(vary_durations(graph, order, varied_by(0, 1)).median_thousandths, 33'000);
}

TEST(Variation, PercentilesAreNearestRank) {
  // With one draw both are that draw. With two, the median is the smaller and the 95th percentile the larger.
  const OpGraph graph = one_forward(1'000'000);
  const Order order = some_order(graph);
  const Variation one = vary_durations(graph, order, varied_by(100, 1));
  EXPECT_EQ(one.median_thousandths, one.percentile_95_thousandths);
  const Variation two = vary_durations(graph, order, varied_by(100, 2));
  EXPECT_LT(two.median_thousandths, two.percentile_95_thousandths);
  EXPECT_TRUE(two.median_thousandths == one.median_thousandths ||
              two.percentile_95_thousandths == one.median_thousandths)
      << "the first draw of two is the draw of one";
}

TEST(Variation, DrawsAreUniform) {
  const OpGraph graph = one_forward(1'000'000);
  const Variation variation = vary_durations(graph, some_order(graph), varied_by(100, 20'000));
  EXPECT_NEAR(static_cast<double>(variation.median_thousandths), 1.00e9, 0.003e9);
  EXPECT_NEAR(static_cast<double>(variation.percentile_95_thousandths), 1.09e9, 0.003e9);
}

TEST(Variation, DrawsDifferByOpAndBySeed) {
  std::set<std::int64_t> draws;
  for (int microbatch = 0; microbatch < 5; ++microbatch)
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      draws.insert(one_draw(one_forward(1'000'000, microbatch), 100, seed));
  EXPECT_EQ(draws.size(), 25U);
}

TEST(Variation, DrawOfAnOpDependsOnlyOnItsLabel) {
  // The same forward in a graph of other ops, at another place and with another id.
  const Problem alone = problem_of(1, {chain_model("a", {0}, 1, 1000, 1)});
  const Problem in_company = problem_of(2, {chain_model("a", {1}, 4, 1000, 1), chain_model("b", {0, 1}, 3, 1, 1)});
  const auto draw_of_first_forward = [](const Problem& problem) {
    OpGraph graph = pipeline::lower(problem, BackwardForm::whole).graph;
    for (std::size_t op = 0; op < graph.size(); ++op)
      if (graph.labels[op] != pipeline::OpLabel{}) graph.duration[op] = Ticks(0);
    return one_draw(graph, 100, 3);
  };
  EXPECT_EQ(draw_of_first_forward(alone), draw_of_first_forward(in_company));
}

TEST(Variation, LongDurationsDoNotOverflow) {
  const std::int64_t longest = base::max_time;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    // In the same draw the factor of a short op shows the factor of the longest, up to its rounding.
    const std::int64_t drawn = one_draw(one_forward(longest), 1000, seed);
    EXPECT_EQ(drawn, one_draw(one_forward(1'000'000), 1000, seed) * 1'000'000'000)
        << "1,000,000 ticks show every millionth";
  }
  EXPECT_EQ(one_draw(one_forward(longest - 1), 0, 1), (longest - 1) * 1000);
}

TEST(Variation, LargeSumsSaturate) {
  OpGraph graph =
      pipeline::lower(problem_of(1, {chain_model("a", {0}, 50, base::max_time, base::max_time)}), BackwardForm::whole)
          .graph;
  EXPECT_EQ(one_draw(graph, 0, 1), std::numeric_limits<std::int64_t>::max() / 4);
}

TEST(Variation, DoesNotDependOnThreads) {
  const OpGraph graph = pipeline::lower(test::random_problem(5), BackwardForm::split).graph;
  const Order order = some_order(graph);
  VariationOptions options = varied_by(50, 101);
  const Variation one_thread = vary_durations(graph, order, options);
  for (const int threads : {2, 3, 200}) {
    options.threads = threads;
    EXPECT_TRUE(equal(vary_durations(graph, order, options), one_thread)) << threads << " threads";
  }
}

TEST(Variation, CancelledBeforeTheFirstDrawIsAllZero) {
  parallel::Cancellation cancellation;
  cancellation.request();
  const OpGraph graph = one_forward(1000);
  VariationOptions options = varied_by(50, 10);
  options.cancellation = &cancellation;
  EXPECT_TRUE(equal(vary_durations(graph, some_order(graph), options), Variation{}));
}

}  // namespace
}  // namespace dovetail::fuse
