#include "simulate/partial_rollout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "generations.h"
#include "stage_tasks.h"

namespace dovetail::simulate {
namespace {

using base::Ticks;
using test::equal_samples;
using test::layout_of;
using test::long_tailed;
using test::Scenario;

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

TEST(PartialRollout, EqualsGenerationWithNothingLeftOver) {
  const Scenario scenario("llama-3.1-8b", layout_of(4, 1, 1));
  const std::vector<Sample> samples = long_tailed(64, 200, 8, 5);
  const auto rollouts = simulate_partial_rollout(scenario.task, 1100, [&](std::uint64_t) { return samples; },
                                                 {.trained = 64, .in_progress = 64, .warm_up = 0, .iterations = 3});
  const Generation whole = simulate_generation(scenario.task, samples);
  for (const PartialRollout& rollout : rollouts) {
    EXPECT_EQ(rollout.end, whole.end);
    EXPECT_EQ(rollout.decoded, whole.counts.decoded);
    EXPECT_EQ(rollout.recomputed, 0);
    EXPECT_EQ(rollout.held, 0);
    EXPECT_EQ(rollout.by_age, std::vector<std::int64_t>{whole.counts.decoded});
  }
}

TEST(PartialRollout, EndsBeforeTheTailAndTrainsOnOlderTokens) {
  const Scenario scenario("llama-3.1-8b", layout_of(4, 1, 1));
  const std::vector<Sample> samples = long_tailed(64, 200, 8, 10);
  const auto rollouts = simulate_partial_rollout(scenario.task, 2100, [&](std::uint64_t) { return samples; },
                                                 {.trained = 64, .in_progress = 96, .warm_up = 8, .iterations = 64});
  const Ticks whole = simulate_generation(scenario.task, samples).end;
  Ticks all;
  std::int64_t decoded = 0;
  std::int64_t trained = 0;
  std::int64_t old = 0;
  for (const PartialRollout& rollout : rollouts) {
    all += rollout.end;
    decoded += rollout.decoded;
    trained += rollout.trained;
    old += rollout.trained - rollout.by_age.front();
    EXPECT_EQ(rollout.samples, 64);
  }
  EXPECT_LT(all, whole * 64);
  EXPECT_GT(old, 0);
  // In the long run, all generated tokens are trained on.
  EXPECT_NEAR(static_cast<double>(decoded) / static_cast<double>(trained), 1, 0.05);
}

RC_GTEST_PROP(PartialRollout, ConservesTokens, ()) {
  Scenario scenario("llama-3.1-8b", layout_of(*rc::gen::inRange(1, 5), 1, 1));
  scenario.task.options = test::random_options();
  scenario.task.engine.max_num_seqs = *rc::gen::inRange(1, 20);
  scenario.task.engine.chunked_prefill = *rc::gen::arbitrary<bool>();
  scenario.task.key_value_capacity = scenario.token_bytes() * *rc::gen::inRange(1, 4000);
  std::vector<std::vector<Sample>> draws;
  for (int draw = 0; draw < 3; ++draw) draws.push_back(test::random_samples(*rc::gen::inRange(1, 12), 4, 50, 300));
  const auto samples_of = [&](std::uint64_t draw) { return draws[draw % draws.size()]; };
  const auto trained = static_cast<std::size_t>(*rc::gen::inRange(1, 10));
  const auto more = static_cast<std::size_t>(*rc::gen::inRange(0, 10));
  const auto rollouts =
      simulate_partial_rollout(scenario.task, 350, samples_of,
                               {.trained = trained, .in_progress = trained + more, .warm_up = 0, .iterations = 6});
  std::int64_t held = 0;
  for (const PartialRollout& rollout : rollouts) {
    RC_ASSERT(held + rollout.decoded == rollout.trained + rollout.held);
    RC_ASSERT(sum(rollout.by_age) == rollout.trained);
    RC_ASSERT(rollout.held >= 0);
    RC_ASSERT(rollout.samples >= static_cast<std::int64_t>(trained));
    if (more == 0) RC_ASSERT(rollout.held == 0);
    held = rollout.held;
  }
}

}  // namespace
}  // namespace dovetail::simulate
