// Compares the cut walk with the ordinary walk: the same swaps are made, and the times are the same once they
// are restored.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string_view>
#include <vector>

#include "base/random.h"
#include "fuse/constructions/constructions.h"
#include "fuse/search/makespan_walk.h"
#include "fuse/search/search.h"
#include "pipeline/problem/instances.h"
#include "support/problem_maker.h"
#include "support/random_problem.h"

namespace dovetail::fuse {
namespace {

using Outcome = CutWalk::Outcome;
using Place = SwapWalk::Place;
using pipeline::Lowering;
using pipeline::Order;
using pipeline::Problem;

Order start_of(const Problem& problem, const Lowering& lowering) {
  return search_order(lowering, std::get<Solution>(solve_one_at_a_time(problem, {})));
}

Outcome swap_whole(SwapWalk& walk, Place first, double loss) {
  if (walk.makes_cycle(first)) return Outcome::cycle;
  const SwapWalk::Trial trial = walk.try_swap(first);
  if (trial.longest > walk.makespan() && static_cast<double>(trial.longest - walk.makespan()) > loss)
    return Outcome::too_long;
  walk.swap(first, trial);
  return Outcome::made;
}

/// Returns the first property of any place in which `walk` differs from `whole`.
std::string_view first_difference(const SwapWalk& walk, const SwapWalk& whole) {
  if (walk.makespan() != whole.makespan()) return "makespan";
  if (!(walk.order() == whole.order())) return "order";
  for (std::uint32_t i = 0; i < walk.places(); ++i) {
    const auto place = static_cast<Place>(i);
    if (walk.op(place) < 0) continue;
    if (walk.head(place) != whole.head(place)) return "head";
    if (walk.tail(place) != whole.tail(place)) return "tail";
    if (walk.level(place) != whole.level(place)) return "level";
  }
  return "";
}

/// Makes `count` random proposals on both walks; `loss` is the largest accepted increase.
std::string_view first_difference_in(SwapWalk& walk, SwapWalk& whole, std::uint64_t seed, int count, double loss) {
  base::Random random(seed, 0);
  CutWalk cut(walk);
  for (int proposal = 0; proposal < count; ++proposal) {
    const auto first = static_cast<Place>(random.below(walk.places()));
    if (!walk.can_swap(first)) continue;
    const double most = loss * static_cast<double>(random.below(1000)) / 1000;
    const Outcome outcome = cut.swap(first, most);
    if (outcome != swap_whole(whole, first, most)) return "outcome";
    if (walk.makespan() != whole.makespan()) return "makespan";
  }
  cut.repair();
  return first_difference(walk, whole);
}

RC_GTEST_PROP(CutWalk, MakesTheSameSwapsAsTheOrdinaryWalk, ()) {
  test::RandomProblemOptions plain;
  plain.transfers = false;
  plain.split = false;
  plain.steps = false;
  const Problem problem = *test::problems(plain);
  const Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::split);
  SwapWalk walk(lowering.graph, start_of(problem, lowering));
  RC_ASSERT(walk.can_be_cut());
  SwapWalk whole = walk;
  const auto seed = *rc::gen::noShrink(rc::gen::arbitrary<std::uint64_t>());
  const double loss = static_cast<double>(*rc::gen::inRange<std::int64_t>(0, whole.makespan() + 1));
  RC_ASSERT(first_difference_in(walk, whole, seed, 300, loss) == "");
}

TEST(CutWalk, HandlesTheLongestValidTimes) {
  constexpr std::int64_t forward = base::max_time / 4;
  const Problem problem = test::problem_of(2, {test::chain_model("a", {0, 1}, 1024, forward, 2 * forward),
                                               test::chain_model("b", {1, 0}, 1024, forward, 2 * forward)});
  ASSERT_EQ(pipeline::find_fault(problem).value_or(""), "");
  const Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::split);
  SwapWalk walk(lowering.graph, start_of(problem, lowering));
  SwapWalk whole = walk;
  EXPECT_EQ(first_difference_in(walk, whole, 1, 20'000, static_cast<double>(forward)), "");
  EXPECT_EQ(pipeline::evaluate(lowering.graph, whole.order())->makespan.count(), whole.makespan());
}

class CutWalkOnInstances : public testing::TestWithParam<std::string_view> {};

TEST_P(CutWalkOnInstances, MakesTheSameSwapsAsTheOrdinaryWalk) {
  const Problem& problem = pipeline::find_instance(GetParam())->problem;
  const Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::split);
  SwapWalk walk(lowering.graph, start_of(problem, lowering));
  ASSERT_TRUE(walk.can_be_cut());
  SwapWalk whole = walk;
  for (const double loss : {40.0, 5.0, 0.5}) EXPECT_EQ(first_difference_in(walk, whole, 1, 20'000, loss), "") << loss;
}

INSTANTIATE_TEST_SUITE_P(Bundled, CutWalkOnInstances,
                         testing::Values("exp5", "exp8", "exp9", "three-models-1", "uneven-stages-1"));

}  // namespace
}  // namespace dovetail::fuse
