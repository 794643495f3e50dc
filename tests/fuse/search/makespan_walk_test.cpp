// Compares Metropolis steps with a walk that tries every swap first.
#include "fuse/search/makespan_walk.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/random.h"
#include "fuse/constructions/constructions.h"
#include "fuse/search/search.h"
#include "pipeline/problem/instances.h"

namespace dovetail::fuse {
namespace {

using Outcome = MakespanWalk::Outcome;
using Place = SwapWalk::Place;

SwapWalk walk_of(std::string_view instance) {
  const pipeline::Problem& problem = pipeline::find_instance(instance)->problem;
  const pipeline::Lowering lowering = pipeline::lower(problem, pipeline::BackwardForm::split);
  return {lowering.graph, search_order(lowering, std::get<Solution>(solve_one_at_a_time(problem, {})))};
}

/// Returns whether the swap was made.
bool swap_whole(SwapWalk& walk, Place first, double loss, bool prompt) {
  if (prompt ? !walk.is_prompt(first) : walk.makes_cycle(first)) return false;
  const SwapWalk::Trial trial = walk.try_swap(first);
  if (is_too_long(trial.longest, walk.makespan(), loss)) return false;
  walk.swap(first, trial);
  return true;
}

/// Makes random steps on both walks. Returns the number of the first step that differs.
std::optional<int> first_difference(MakespanWalk& steps, SwapWalk& walk, SwapWalk& whole, base::Random& random,
                                    double loss, bool prompt) {
  for (int step = 0; step < 30'000; ++step) {
    const Place first = walk.draw(random.next());
    if (!walk.can_swap(first)) continue;
    const bool made = steps.step(first, loss) == Outcome::made;
    if (made != swap_whole(whole, first, loss, prompt) || walk.makespan() != whole.makespan()) return step;
  }
  return std::nullopt;
}

TEST(MakespanWalk, BothMethodsDecideAlike) {
  SwapWalk walk = walk_of("exp8");
  SwapWalk whole = walk;
  base::Random random(1, 0);
  {
    MakespanWalk steps(walk, false);
    EXPECT_EQ(first_difference(steps, walk, whole, random, 50, false), std::nullopt);
    EXPECT_TRUE(steps.is_cut()) << "hot: few swaps are too long";
    EXPECT_EQ(first_difference(steps, walk, whole, random, 0, false), std::nullopt);
    EXPECT_FALSE(steps.is_cut()) << "cold";
    EXPECT_EQ(first_difference(steps, walk, whole, random, 50, false), std::nullopt);
    EXPECT_TRUE(steps.is_cut());
  }
  EXPECT_EQ(walk.order(), whole.order());
  EXPECT_EQ(walk.head(3), whole.head(3)) << "mended";
}

TEST(MakespanWalk, MakesOnlyPromptSwapsIfRequested) {
  SwapWalk walk = walk_of("exp8");
  SwapWalk whole = walk;
  base::Random random(1, 0);
  MakespanWalk steps(walk, true);
  EXPECT_EQ(first_difference(steps, walk, whole, random, 50, true), std::nullopt);
  EXPECT_FALSE(steps.is_cut());
}

TEST(MakespanWalk, DoesNotCutUncuttableWalks) {
  SwapWalk walk = walk_of("transfer-1");
  ASSERT_FALSE(walk.can_be_cut());
  SwapWalk whole = walk;
  base::Random random(1, 0);
  MakespanWalk steps(walk, false);
  EXPECT_EQ(first_difference(steps, walk, whole, random, 1e6, false), std::nullopt);
}

}  // namespace
}  // namespace dovetail::fuse
