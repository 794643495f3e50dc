#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <vector>

#include "fuse/constructions/constructions.h"
#include "fuse/search/search.h"
#include "fuse/search/walk_phases.h"
#include "fuse/solution/variation.h"
#include "pipeline/schedule/evaluate.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using base::Ticks;
using pipeline::Lowering;
using pipeline::Order;
using pipeline::Problem;

Lowering lower_split(const Problem& problem) { return pipeline::lower(problem, pipeline::BackwardForm::split); }

Order list_order(const Problem& problem, const Lowering& lowering) {
  return search_order(lowering, std::get<Solution>(solve_list(problem, {})));
}

std::int64_t percentile_95(const Lowering& lowering, const Order& order, const RobustnessMeasure& measure) {
  VariationOptions options;
  options.draws = measure.draws;
  options.seed = measure.seed;
  return vary_durations(lowering.graph, order, options).percentile_95_thousandths;
}

TEST(Robustness, WeighsMakespanAndPercentile) {
  const Problem problem =
      test::problem_of(2, {test::chain_model("a", {0, 1}, 5, 20, 30), test::chain_model("b", {1, 0}, 5, 10, 40)});
  const Lowering lowering = lower_split(problem);
  const Order order = list_order(problem, lowering);
  const std::int64_t makespan = pipeline::evaluate(lowering.graph, order)->makespan.count();
  const auto score = [&](int percent) {
    return robustness(lowering.graph, order, makespan, {.percent = percent, .draws = 50, .seed = 3});
  };
  const std::int64_t late = percentile_95(lowering, order, {.draws = 50, .seed = 3});
  ASSERT_GT(late, makespan * 1'000);
  EXPECT_EQ(score(0), late) << "of equal makespans, the percentile alone";
  EXPECT_EQ(score(100), late);
  EXPECT_NEAR(static_cast<double>(score(1)), 990.0 * static_cast<double>(makespan) + 0.01 * static_cast<double>(late),
              2);
  EXPECT_NEAR(static_cast<double>(score(25)), 750.0 * static_cast<double>(makespan) + 0.25 * static_cast<double>(late),
              2);
  EXPECT_NE(late, percentile_95(lowering, order, {.draws = 50, .seed = 4})) << "the draws are those of the seed";
}

TEST(Robustness, LongestTimesStayWithin64Bits) {
  Problem problem = test::problem_of(1, {test::chain_model("a", {0}, 1, 1'000'000'000'000'000, 1'000'000'000'000'000)});
  problem.models[0].microbatches = 1'000;
  ASSERT_FALSE(pipeline::find_fault(problem));
  const Lowering lowering = lower_split(problem);
  const Order order = list_order(problem, lowering);
  const std::int64_t makespan = 2'000'000'000'000'000'000;
  for (const int percent : {0, 1, 50, 99, 100})
    EXPECT_GT(robustness(lowering.graph, order, makespan, {.percent = percent, .draws = 5}), std::int64_t{1} << 60)
        << percent;
}

/// Limits that a walk must respect, whatever the weight.
struct Limits {
  std::int64_t deadline = 0;
  std::int64_t peak = 0;
  std::vector<std::int64_t> capacity;
};

RC_GTEST_PROP(WalkForRobustness, NeverGetsWorseAndStaysWithinTheLimits, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  Chain chain = chain_from(lowering.graph, list_order(problem, lowering),
                           *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>()), 0);
  const Chain start = chain;
  const RobustnessMeasure measure{
      .percent = *rc::gen::noShrink(rc::gen::element(0, 1, 50, 100)), .draws = 20, .seed = 5};
  Limits limits{start.best_makespan + *rc::gen::noShrink(rc::gen::inRange<std::int64_t>(0, 3)), start.best_peak, {}};
  if (*rc::gen::noShrink(rc::gen::arbitrary<bool>()))
    limits.capacity.assign(static_cast<std::size_t>(problem.devices), start.best_peak - 1);
  chain.best_score = robustness(lowering.graph, chain.best, chain.best_makespan, measure);
  const std::int64_t before = chain.best_score;
  walk_for_robustness(chain, lowering.graph, limits.deadline, limits.peak, limits.capacity, measure, 6, 100);
  const auto best = pipeline::evaluate(lowering.graph, chain.best);
  RC_ASSERT(best.ok());
  RC_ASSERT(best->makespan.count() == chain.best_makespan);
  RC_ASSERT(best->peak_activation.count() == chain.best_peak);
  RC_ASSERT(chain.best_score == robustness(lowering.graph, chain.best, chain.best_makespan, measure));
  RC_ASSERT(chain.best_score <= before);
  RC_ASSERT(chain.best_peak <= start.best_peak);
  RC_ASSERT(chain.best_makespan <= limits.deadline);
  if (measure.percent == 0) RC_ASSERT(chain.best_makespan <= start.best_makespan);
}

RC_GTEST_PROP(WalkForRobustness, IsDeterministic, ()) {
  const Problem problem = *test::problems();
  const Lowering lowering = lower_split(problem);
  const std::uint64_t seed = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
  const auto run = [&] {
    Chain chain = chain_from(lowering.graph, list_order(problem, lowering), seed, 0);
    walk_for_robustness(chain, lowering.graph, chain.best_makespan, chain.best_peak, {}, {.draws = 10}, 4, 50);
    return chain;
  };
  const Chain once = run();
  const Chain twice = run();
  RC_ASSERT(once.best.devices == twice.best.devices);
  RC_ASSERT(once.best_score == twice.best_score);
}

TEST(WalkForRobustness, FindsAMoreRobustScheduleOfEqualMakespan) {
  const Problem problem = test::problem_of(
      4, {test::chain_model("a", {0, 1, 2, 3}, 8, 20, 40), test::chain_model("b", {3, 2, 1, 0}, 8, 10, 20)});
  const Lowering lowering = lower_split(problem);
  Chain chain = chain_from(lowering.graph, list_order(problem, lowering), 1, 0);
  const RobustnessMeasure measure{.draws = 100};
  const std::int64_t makespan = chain.best_makespan;
  const std::int64_t peak = chain.best_peak;
  const std::int64_t before = chain.best_score = robustness(lowering.graph, chain.best, makespan, measure);
  walk_for_robustness(chain, lowering.graph, makespan, peak, {}, measure, 40, 20'000);
  EXPECT_LT(chain.best_score, before);
  EXPECT_EQ(percentile_95(lowering, chain.best, measure), chain.best_score);
  EXPECT_LE(chain.best_makespan, makespan);
  EXPECT_LE(chain.best_peak, peak);
}

}  // namespace
}  // namespace dovetail::fuse
