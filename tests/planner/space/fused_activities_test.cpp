#include "planner/space/fused_activities.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "planner/space/trial.h"
#include "predict/closed_form/estimate.h"
#include "predict/closed_form/training_phase.h"
#include "support/spaces.h"

namespace dovetail::planner {
namespace {

plan::Job ppo_job() {
  return test::small_job("ppo", "actor: qwen3-4b, reward: qwen3-1.7b",
                         "nodes: 2, gpus_per_node: 4, gpu: H100, host_memory: 1TB");
}

TEST(FusedActivities, AgreeWithTheEvaluatorOnGeneration) {
  const test::Place place(ppo_job());
  Trial trial(place.space);
  FusionTables tables(place.space);
  FusedActivities fused(tables);
  base::Random random(5, 0);
  int gains = 0;
  for (int round = 0; round < 60; ++round) {
    const Selection selection = test::random_co_located_selection(place.space, random);
    plan::Plan plan = plan_of(place.space, selection, "");
    plan.fusion.threshold = predict::best_threshold(place.scenario, plan.tasks);
    const auto least = fused.min_generation(selection);
    const auto stage = fused.generation(selection);
    ASSERT_EQ(stage.has_value(), plan.fusion.threshold.has_value()) << round;
    if (stage) {
      ASSERT_TRUE(least.generation.has_value()) << round;
      EXPECT_LE(least.generation->duration, stage->duration) << round;
    }
    const auto known = fused.min_generation(selection);
    EXPECT_TRUE(known.exact) << round;
    EXPECT_EQ(known.generation.has_value(), stage.has_value()) << round;
    const Score score = trial.score(selection, {.generation = true, .training = false});
    EXPECT_EQ(score.fused.generation, stage.has_value());
    const predict::Estimate exact = predict::estimate(place.scenario, plan);
    EXPECT_NEAR(base::seconds_of_ticks(score.period) / base::seconds_of_ticks(exact.timing.period), 1, 0.02) << round;
    if (!stage) continue;
    ++gains;
    EXPECT_NEAR(base::seconds_of_ticks(stage->duration), exact.inter_stage->seconds(), 1e-6) << round;
    EXPECT_EQ(stage->stage->infer, exact.inter_stage->stage.infer);
  }
  EXPECT_GT(gains, 5);
}

TEST(FusedActivities, FusedTrainingIsBetweenItsWorkAndItsBound) {
  const test::Place place(ppo_job());
  FusionTables tables(place.space);
  FusedActivities fused(tables);
  Trial trial(place.space);
  base::Random random(9, 0);
  int tried = 0;
  double least = 1;
  for (int round = 0; round < 3000 && tried < 40; ++round) {
    const Selection selection = test::random_co_located_selection(place.space, random);
    plan::Plan plan = plan_of(place.space, selection, "");
    const auto [first, second] = *fused.pair();
    const bool can = !plan::find_training_fault(place.job, *fused.pair(), plan.tasks[first], plan.tasks[second]);
    const FusedActivities::Training* training = fused.training(selection);
    ASSERT_EQ(training != nullptr, can) << round;
    if (!can) continue;
    ++tried;
    plan.fusion.training = fused.pair();
    const predict::IntraStage bound = predict::intra_stage_over_bound(place.scenario, plan, 1);
    EXPECT_LE(base::seconds_of_ticks(training->duration), bound.seconds() + 1e-6) << round;
    least = std::min(least, base::seconds_of_ticks(training->duration) / bound.seconds());
    for (const std::size_t task : *fused.pair())
      EXPECT_GE(base::seconds_of_ticks(training->duration) + 1e-6,
                predict::stage_work(place.scenario, {task, plan.tasks[task]}).busiest)
          << round;
    const Score score = trial.score(selection, {.generation = false, .training = true});
    EXPECT_TRUE(score.fused.training);
    const double exact = base::seconds_of_ticks(predict::estimate(place.scenario, plan, bound).timing.period);
    EXPECT_LE(base::seconds_of_ticks(score.period), 1.02 * exact) << round;
  }
  std::printf("of %d pairs of trainings the floor is %.1f%% of the bound at the least\n", tried, 100 * least);
  EXPECT_EQ(tried, 40);
  EXPECT_GT(least, 0.8);
}

TEST(FusedActivities, FloorIsTheWorkOfOneDevice) {
  // With one stage each, both run in sequence on the same devices under any schedule.
  const test::Place place(test::small_job("ppo", "actor: qwen3-4b, reward: qwen3-1.7b",
                                          "nodes: 1, gpus_per_node: 8, gpu: H100, host_memory: 1TB"));
  FusionTables tables(place.space);
  FusedActivities fused(tables);
  plan::Plan plan;
  base::Random random(2, 0);
  const auto pair = *fused.pair();
  for (bool found = false; !found;) {
    plan = plan_of(place.space, test::random_co_located_selection(place.space, random), "");
    found = std::all_of(pair.begin(), pair.end(),
                        [&](std::size_t task) { return plan.tasks[task].layout.pipeline == 1; }) &&
            plan.tasks[pair[0]].layout == plan.tasks[pair[1]].layout;
  }
  const predict::TrainTask first{pair[0], plan.tasks[pair[0]]}, second{pair[1], plan.tasks[pair[1]]};
  EXPECT_NEAR(predict::fused_training_floor(place.scenario, first, second).value(),
              predict::stage_work(place.scenario, first).busiest + predict::stage_work(place.scenario, second).busiest,
              1e-6);
}

}  // namespace
}  // namespace dovetail::planner
