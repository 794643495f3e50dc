#include "study/worth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "support/scenes.h"

namespace dovetail::study {
namespace {

using test::pipelined;
using test::ppo_with;
using test::Scene;
using testing::ContainsRegex;
using testing::HasSubstr;

WhatIfs what_ifs_of(const Scene& scene) { return what_ifs(scene.scenario, scene.plan, test::quick_what_ifs()); }

TrainingWorth training_of(const Scene& scene) {
  return training_worth(scene.scenario, scene.plan, what_ifs_of(scene).training);
}

GenerationWorth generation_of(const Scene& scene) {
  return generation_worth(scene.scenario, scene.plan, what_ifs_of(scene), 1);
}

TEST(Worth, FusedTrainingIsNoWithoutACritic) {
  const plan::Job job = test::grpo_job();
  const TrainingWorth training = training_of({job, test::co_located(job)});
  EXPECT_EQ(training.fusion.verdict, Verdict::no);
  EXPECT_THAT(training.fusion.reason, HasSubstr("grpo does not train a second model"));
  ASSERT_EQ(training.alternatives.size(), std::size(training_methods));
  for (const TrainingAlternative& alternative : training.alternatives)
    EXPECT_EQ(is_fused(alternative.method), alternative.why_not == training.fusion.reason);
  EXPECT_FALSE(training.bound);
}

TEST(Worth, TrainingIncludesThePlan) {
  const plan::Job job = ppo_with("512");
  Scene scene(job, pipelined(job, 4));
  scene.plan.tasks[scene.task("actor_train")].layout.virtual_stages = 2;
  const auto planned = [](const TrainingWorth& training) {
    return std::count_if(training.alternatives.begin(), training.alternatives.end(),
                         [](const TrainingAlternative& alternative) { return alternative.planned; });
  };
  EXPECT_EQ(planned(training_of(scene)), 1);
  scene.plan.tasks[scene.task("actor_train")].layout.virtual_stages = 1;
  EXPECT_EQ(planned(training_of(scene)), 1);
}

TEST(Worth, FusedTrainingIsNoWithoutBubbles) {
  const plan::Job job = ppo_with(test::long_tail);
  const TrainingWorth training = training_of({job, pipelined(job, 1)});
  EXPECT_EQ(training.fusion.verdict, Verdict::no);
  EXPECT_THAT(training.fusion.reason, HasSubstr("pipelines of one stage have no bubbles"));
}

TEST(Worth, FusedTrainingIsYesIfNothingElseFillsTheBubbles) {
  const plan::Job job = ppo_with("512");
  Scene scene(job, pipelined(job, 4));
  // Mini-batches of 16 samples per pipeline in 2 micro-batches over 4 stages consist mostly of bubbles.
  for (const char* name : {"actor_train", "critic_train"})
    scene.plan.tasks[scene.task(name)].micro_batching = {0, 0, 2};
  const TrainingWorth training = training_of(scene);
  EXPECT_EQ(training.fusion.verdict, Verdict::yes) << training.fusion.reason;
  double best[2] = {1e9, 1e9};
  for (const TrainingAlternative& alternative : training.alternatives)
    if (alternative.why_not.empty() && alternative.fits())
      best[is_fused(alternative.method)] = std::min(best[is_fused(alternative.method)], alternative.seconds);
  EXPECT_LE(best[true], best[false] * (1 - min_gain));
  ASSERT_EQ(training.alternatives[4].method, TrainingMethod::fused);
  EXPECT_GE(training.alternatives[4].seconds, *training.bound - 1e-9);
}

TEST(Worth, FusedTrainingIsNoWithFewBubbles) {
  const plan::Job job = ppo_with("512", 512);
  Scene scene(job, pipelined(job, 2));
  for (const char* name : {"actor_train", "critic_train"})
    scene.plan.tasks[scene.task(name)].micro_batching = {1, 0, 0};
  const TrainingWorth training = training_of(scene);
  EXPECT_EQ(training.fusion.verdict, Verdict::no) << training.fusion.reason;
  EXPECT_THAT(training.fusion.reason, HasSubstr("but the best method without fusion, "));
}

TEST(Worth, FusedTrainingIsNoOnSeparateDevices) {
  const plan::Job job = ppo_with(test::long_tail);
  Scene scene(job, pipelined(job, 4));
  for (const auto& [name, first] : {std::pair("actor_train", 0), std::pair("critic_train", 4)}) {
    scene.plan.tasks[scene.task(name)].mesh = {first, 4};
    scene.plan.tasks[scene.task(name)].layout.data = 1;
  }
  const Worth fusion = training_of(scene).fusion;
  EXPECT_EQ(fusion.verdict, Verdict::no);
  EXPECT_THAT(fusion.reason, HasSubstr("fusion needs the same devices"));
}

TEST(Worth, IsNotKnownIfStopped) {
  const plan::Job job = ppo_with(test::long_tail);
  const Scene scene(job, pipelined(job, 4));
  const parallel::Cancellation over(nullptr, 0.0);
  const predict::Scenario stopped = predict::stopped_by(scene.scenario, over);
  EXPECT_EQ(training_worth(stopped, scene.plan, std::nullopt).fusion.verdict, Verdict::not_known);
  EXPECT_EQ(generation_worth(stopped, scene.plan, {}, 1).fusion.verdict, Verdict::not_known);
  // A fusion that is impossible needs no evaluation.
  const plan::Job alone = test::grpo_job();
  const predict::Scenario without_critic = predict::scenario_of(alone, scene.scenario.software, &over);
  EXPECT_EQ(training_worth(without_critic, test::co_located(alone), std::nullopt).fusion.verdict, Verdict::no);
}

TEST(Worth, FusedGenerationIsNoWithoutATail) {
  const plan::Job job = ppo_with("512");
  const GenerationWorth generation = generation_of({job, pipelined(job, 4)});
  EXPECT_EQ(generation.fusion.verdict, Verdict::no);
  EXPECT_THAT(generation.fusion.reason, HasSubstr("the tail is short"));
  ASSERT_TRUE(generation.plain);
  EXPECT_LT(*generation.tail, 0.05);
}

TEST(Worth, FusedGenerationIsNoIfParallelInferenceSavesAsMuch) {
  // Three inference tasks with a hand-over each take less time in parallel than one after the other.
  const plan::Job job = ppo_with(test::long_tail);
  const Scene scene(job, pipelined(job, 4));
  ASSERT_GT(scene.scenario.software.efficiency.task, 0);
  WhatIfs found = what_ifs_of(scene);
  const GenerationWorth generation = generation_worth(scene.scenario, scene.plan, found, 1);
  EXPECT_EQ(generation.fusion.verdict, Verdict::yes);
  EXPECT_LT(generation.side_by_side, *generation.plain);
  EXPECT_THAT(generation.fusion.reason, HasSubstr("less than with inference tasks in parallel after generation"));
  found.thresholds->side_by_side = found.thresholds->points[found.thresholds->best].value;
  const Worth fusion = generation_worth(scene.scenario, scene.plan, found, 1).fusion;
  EXPECT_EQ(fusion.verdict, Verdict::no);
  EXPECT_THAT(
      fusion.reason,
      HasSubstr(
          "but running the inference tasks in parallel after generation, on parts of the devices, already saves "));
}

TEST(Worth, FusedGenerationIsNoWithOneInstance) {
  const plan::Job job = ppo_with(test::long_tail);
  Scene scene(job, pipelined(job, 4));
  llm::Layout& layout = scene.plan.tasks[scene.task("actor_generate")].layout;
  layout.data = 1;
  layout.tensor = 8;
  const Worth fusion = generation_of(scene).fusion;
  EXPECT_EQ(fusion.verdict, Verdict::no);
  EXPECT_THAT(fusion.reason, HasSubstr("one instance generates"));
}

TEST(Worth, FusedGenerationIsNoIfNoReplicaFitsOnFreedDevices) {
  const plan::Job job = ppo_with(test::long_tail);
  Scene scene(job, pipelined(job, 4));
  llm::Layout& layout = scene.plan.tasks[scene.task("reference_infer")].layout;
  layout.data = 1;
  layout.tensor = 8;
  const WhatIfs found = what_ifs_of(scene);
  const std::string reason = "a replica of reference_infer has 8 devices, but at most 7 can be freed";
  EXPECT_EQ(generation_worth(scene.scenario, scene.plan, found, 1).fusion.reason, reason);
  EXPECT_EQ(find_fusion(found, true, false)->why_not, reason);
}

TEST(Worth, FusedGenerationIsNoWithoutInference) {
  const plan::Job job = test::grpo_job();
  const GenerationWorth generation = generation_of({job, test::separated(job)});
  EXPECT_EQ(generation.fusion.verdict, Verdict::no);
  EXPECT_THAT(generation.fusion.reason,
              HasSubstr("no infer task that depends only on actor_generate runs on the devices of actor_generate"));
  EXPECT_FALSE(generation.plain);
}

TEST(Worth, FusedGenerationUsesTheThresholdStudy) {
  const plan::Job job = ppo_with(test::long_tail);
  Scene scene(job, pipelined(job, 4));
  scene.plan.fusion.threshold = 0.95;
  const GenerationWorth generation = generation_of(scene);
  ASSERT_FALSE(generation.fused.empty());
  EXPECT_EQ(generation.fused.back().threshold, 0.95) << "the plan's own threshold is always shown";
  if (generation.best) {
    for (const FusedAt& fused : generation.fused) EXPECT_GE(fused.seconds, generation.fused[*generation.best].seconds);
    const double without = std::min(*generation.plain, generation.side_by_side);
    EXPECT_EQ(generation.fusion.verdict == Verdict::yes,
              generation.fused[*generation.best].seconds <= without * (1 - min_gain));
  }
}

TEST(Worth, FusedGenerationIsNoIfTheIterationDoesNotGain) {
  const plan::Job job = ppo_with(test::long_tail);
  const Scene scene(job, pipelined(job, 4));
  WhatIfs found = what_ifs_of(scene);
  ASSERT_EQ(generation_worth(scene.scenario, scene.plan, found, 1).fusion.verdict, Verdict::yes);
  WhatIfFigures& fused =
      *found.alternatives[static_cast<std::size_t>(find_fusion(found, true, false) - found.alternatives.data())]
           .figures;
  fused.iteration_seconds = find_fusion(found, false, false)->figures->iteration_seconds + 1;
  const Worth longer = generation_worth(scene.scenario, scene.plan, found, 1).fusion;
  EXPECT_EQ(longer.verdict, Verdict::no);
  EXPECT_THAT(longer.reason, ContainsRegex("less time than in sequence, .* but the iteration gets [0-9.]+% longer"));
  WhatIfFigures& plain =
      *found.alternatives[static_cast<std::size_t>(find_fusion(found, false, false) - found.alternatives.data())]
           .figures;
  fused.iteration_seconds = plain.iteration_seconds;
  const Worth as_long = generation_worth(scene.scenario, scene.plan, found, 1).fusion;
  EXPECT_EQ(as_long.verdict, Verdict::no);
  EXPECT_THAT(as_long.reason, HasSubstr("but the iteration does not get shorter"));
  fused.fit = predict::Fit::does_not_fit;
  EXPECT_THAT(generation_worth(scene.scenario, scene.plan, found, 1).fusion.reason,
              HasSubstr("but the fused plan does not fit in memory"));
  plain.fit = predict::Fit::does_not_fit;
  EXPECT_THAT(generation_worth(scene.scenario, scene.plan, found, 1).fusion.reason,
              HasSubstr("but the plan does not fit, fused or not"));
}

}  // namespace
}  // namespace dovetail::study
