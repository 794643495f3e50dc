// Both stage fusions: their durations compared with known values, and when a planner uses them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "planner/rank/fusion_choice.h"
#include "predict/closed_form/software.h"
#include "predict/closed_form/training_phase.h"
#include "support/jobs.h"

namespace dovetail::predict {
namespace {

using testing::HasSubstr;

/// PPO of Qwen3-4B and 1.7B on two nodes, with these response lengths.
plan::Job job_of(const std::string& lengths, const std::string& more = "") {
  return plan::parse_job(
             "format: dovetail/job@1\nname: small\nalgorithm: ppo\nmodels: {actor: qwen3-4b, reward: qwen3-1.7b}\n"
             "workload: {prompts: 512, mini_batches: 2, prompt_length: 128, response_length: " +
                 lengths + "}\ncluster: {nodes: 2, gpus_per_node: 8, gpu: H100, host_memory: 1TB}\n" + more,
             "small.yaml")
      .value();
}

const std::string long_tail = "{p50: 300, sigma: 1, cap: 8192}";

struct Scene {
  explicit Scene(const std::string& lengths, const std::string& more = "") : job(job_of(lengths, more)) {}
  plan::Job job;
  Scenario scenario = scenario_of(job, software_of(job).value());
  plan::Plan plan = test::pipelined_on_16(job);

  std::size_t task(std::string_view name) const { return workflow::find_task(job.workflow, name)->index(); }
  double seconds(std::string_view name) const {
    return task_seconds(scenario, task(name), plan.tasks[task(name)]).seconds;
  }
};

TEST(InterStage, WithoutATailNothingMoves) {
  const Scene scene("512");
  for (const double threshold : {0.05, 0.5, 0.95}) {
    const InterStage fused = inter_stage(scene.scenario, scene.plan.tasks, threshold);
    EXPECT_EQ(fused.kept_instances, fused.instances);
    EXPECT_EQ(fused.instances, 16);
    EXPECT_DOUBLE_EQ(fused.seconds(), fused.apart);
  }
  EXPECT_EQ(best_threshold(scene.scenario, scene.plan.tasks), std::nullopt);
  EXPECT_THAT(planner::why_not_fused(scene.scenario, scene.plan).front(),
              HasSubstr("no threshold hides more time in the tail than migration and set-up take"));
}

TEST(InterStage, ApartIsTheSumOfItsTasks) {
  const Scene scene(long_tail);
  const double sum = scene.seconds("actor_generate") + scene.seconds("reward_infer") +
                     scene.seconds("reference_infer") + scene.seconds("critic_infer");
  EXPECT_NEAR(inter_stage(scene.scenario, scene.plan.tasks, 0.2).apart, sum, 1e-9 * sum);
}

TEST(InterStage, ALongTailHidesInference) {
  const Scene scene(long_tail);
  const auto threshold = best_threshold(scene.scenario, scene.plan.tasks);
  ASSERT_TRUE(threshold.has_value());
  const InterStage fused = inter_stage(scene.scenario, scene.plan.tasks, *threshold);
  EXPECT_LT(fused.seconds(), fused.apart);
  EXPECT_THAT(planner::why_not_fused(scene.scenario, scene.plan).front(),
              HasSubstr("this plan fuses nothing; with fusion, an iteration would take"));
  plan::Plan trained = scene.plan;
  trained.fusion.training = plan::train_pair(scene.job);
  const std::string reason = planner::why_not_fused(scene.scenario, trained).front();
  EXPECT_THAT(reason, HasSubstr("; with fusion, an iteration would take"));
  EXPECT_THAT(reason, HasSubstr("(check with dovetail simulate --fuse both)"));
  EXPECT_LT(fused.kept_instances, fused.instances);
  EXPECT_GT(fused.moved, 0);
  EXPECT_GT(fused.migration, 0);
  EXPECT_LE(fused.moved, *threshold * 512);
  EXPECT_LE(fused.inference_begins(), fused.seconds());
  EXPECT_LE(fused.generation_ends(), fused.seconds());
}

TEST(InterStage, OneInstanceFreesNone) {
  Scene scene(long_tail);
  plan::TaskPlan& generate = scene.plan.tasks[scene.task("actor_generate")];
  generate.layout.data = 1;
  generate.layout.tensor = 8;
  generate.layout.pipeline = 2;
  const InterStage fused = inter_stage(scene.scenario, scene.plan.tasks, 0.5);
  EXPECT_EQ(fused.kept_instances, 1);
  EXPECT_DOUBLE_EQ(fused.seconds(), fused.apart);
  EXPECT_THAT(planner::why_not_fused(scene.scenario, scene.plan).front(),
              HasSubstr("there is only one instance, which cannot be freed"));
}

TEST(InterStage, GenerationEndsWithTheSlowestInstanceIfNothingMoves) {
  Scene scene(long_tail);
  plan::TaskPlan& generate = scene.plan.tasks[scene.task("actor_generate")];
  generate.engine.max_num_seqs = 1;
  const InterStage fused = inter_stage(scene.scenario, scene.plan.tasks, 0.5);
  const cost::GenerationSeconds alone = generation_seconds(scene.scenario, fused.stage.generate, generate);
  EXPECT_EQ(fused.kept_instances, fused.instances);
  EXPECT_GT(alone.imbalance, 0);
  EXPECT_NEAR(fused.until, alone.sum(), 1e-9 * alone.sum());
  EXPECT_DOUBLE_EQ(fused.seconds(), fused.apart);
}

TEST(InterStage, EnginesThatDecodeFewSequencesKeepMoreInstances) {
  Scene scene(long_tail);
  plan::TaskPlan& generate = scene.plan.tasks[scene.task("actor_generate")];
  generate.engine.max_num_seqs = 64;
  const InterStage wide = inter_stage(scene.scenario, scene.plan.tasks, 0.4);
  generate.engine.max_num_seqs = 32;
  const InterStage narrow = inter_stage(scene.scenario, scene.plan.tasks, 0.4);
  EXPECT_GE(wide.kept_instances, 4);    // 205 samples
  EXPECT_GE(narrow.kept_instances, 7);  // 205 samples
}

/// Work and time are conserved for all lengths and thresholds.
RC_GTEST_PROP(InterStage, NeverHidesMoreThanThereIs, ()) {
  const Scene scene("{p50: " + std::to_string(*rc::gen::inRange(50, 1000)) +
                    ", sigma: " + *rc::gen::element<std::string>("0.3", "0.8", "1.2") + ", cap: 4096}");
  const double threshold = *rc::gen::inRange(1, 100) / 100.0;
  const InterStage fused = inter_stage(scene.scenario, scene.plan.tasks, threshold);
  const cost::GenerationSeconds alone =
      generation_seconds(scene.scenario, fused.stage.generate, scene.plan.tasks[fused.stage.generate]);
  // Fewer instances do not end the tail sooner. Inference does not end before the last sample, nor sooner than on all
  // devices.
  RC_ASSERT(fused.generation_ends() >= alone.sum() * (1 - 1e-9));
  RC_ASSERT(fused.seconds() >= fused.generation_ends());
  const double inference = fused.apart - alone.sum();
  RC_ASSERT(fused.seconds() - fused.until - fused.migration >= 0.3 * inference - fused.tail);
  RC_ASSERT(fused.kept_instances >= 1 && fused.kept_instances <= fused.instances);
  const auto best = best_threshold(scene.scenario, scene.plan.tasks);
  if (best) RC_ASSERT(inter_stage(scene.scenario, scene.plan.tasks, *best).seconds() < fused.apart);
}

TEST(IntraStage, IsBetweenItsBoundAndTheSequence) {
  Scene scene(long_tail);
  scene.plan.fusion.training = plan::train_pair(scene.job);
  const IntraStage fused = intra_stage(scene.scenario, scene.plan);
  EXPECT_GT(fused.bound, 0);
  EXPECT_GE(fused.schedule_seconds, fused.bound);
  EXPECT_LT(fused.seconds(), fused.apart);
  EXPECT_GT(fused.activations.value(), 0);
  EXPECT_NEAR(fused.apart, scene.seconds("actor_train") + scene.seconds("critic_train"), 1e-9 * fused.apart);
  const IntraStage quick = intra_stage_over_bound(scene.scenario, scene.plan, fused.over_bound());
  EXPECT_NEAR(quick.seconds(), fused.seconds(), 1e-9 * fused.seconds());
}

TEST(FusedEstimate, IsShorterByTheGainOfTheFusions) {
  Scene scene(long_tail);
  const Estimate apart = estimate(scene.scenario, scene.plan);
  scene.plan.fusion.threshold = best_threshold(scene.scenario, scene.plan.tasks);
  scene.plan.fusion.training = plan::train_pair(scene.job);
  const Estimate fused = estimate(scene.scenario, scene.plan);
  const double gained =
      fused.inter_stage->apart - fused.inter_stage->seconds() + fused.intra_stage->apart - fused.intra_stage->seconds();
  EXPECT_GT(gained, 0);
  EXPECT_NEAR(fused.iteration_seconds, apart.iteration_seconds - gained, 1e-6);
  const auto& times = fused.timing.activities;
  EXPECT_EQ(times[scene.task("actor_train")].begin, times[scene.task("critic_train")].begin);
  EXPECT_EQ(times[scene.task("actor_train")].end, times[scene.task("critic_train")].end);
  EXPECT_LT(times[scene.task("reward_infer")].begin, times[scene.task("actor_generate")].end);
}

TEST(FusedEstimate, TrainingBothNeedsTheMemoryOfBoth) {
  Scene scene(long_tail);
  const Estimate apart = estimate(scene.scenario, scene.plan);
  scene.plan.fusion.training = plan::train_pair(scene.job);
  const Estimate fused = estimate(scene.scenario, scene.plan);
  for (const char* name : {"actor_train", "critic_train"}) {
    const std::size_t task = scene.task(name);
    EXPECT_GT(fused.memory[task].needed(), 0);
    const auto part = [&](const Estimate& of, const std::string& of_part) {
      for (const MemoryPart& one : of.memory[task].parts)
        if (name_of(one, scene.job.workflow) == of_part) return one.bytes;
      return std::int64_t{0};
    };
    EXPECT_EQ(part(fused, "fused activations"), fused.intra_stage->activations.value());
    for (const char* role : {"actor", "critic"})
      EXPECT_EQ(part(fused, std::string(role) + "'s optimizer"), part(apart, std::string(role) + "'s optimizer"))
          << role;
  }
}

TEST(FusionChooser, ChoosesOnlyFusionsThatGain) {
  for (const std::string& lengths : {long_tail, std::string("512")}) {
    const Scene scene(lengths);
    planner::FusionChooser chooser(scene.scenario);
    const Estimate apart = estimate(scene.scenario, scene.plan);
    const planner::EvaluatedPlan best = chooser.choose(scene.plan, apart).value();
    EXPECT_LE(best.estimate.iteration_seconds, apart.iteration_seconds);
    EXPECT_GE(best.estimate.iteration_seconds, planner::min_fused_seconds(scene.scenario, scene.plan) - 1e-6);
    EXPECT_EQ(best.plan.fusion.threshold.has_value(), lengths == long_tail);
    EXPECT_TRUE(best.estimate.fits());
    EXPECT_DOUBLE_EQ(best.estimate.iteration_seconds, estimate(scene.scenario, best.plan).iteration_seconds)
        << "known schedules are the same";
  }
}

TEST(FusionChooser, RespectsTheJob) {
  const auto fusion_with = [](const std::string& fixed) {
    const Scene scene(long_tail, "fixed: {fusion: " + fixed + "}\n");
    planner::FusionChooser chooser(scene.scenario);
    const auto best = chooser.choose(scene.plan, estimate(scene.scenario, scene.plan));
    return best ? std::optional(best->plan.fusion) : std::nullopt;
  };
  EXPECT_EQ(fusion_with("{inter_stage: false, intra_stage: false}"), plan::Fusion{});
  EXPECT_EQ(fusion_with("{inter_stage: {threshold: 0.9}}")->threshold, 0.9);
  EXPECT_TRUE(fusion_with("{intra_stage: true}")->training.has_value());
}

TEST(WhyNotFused, GrpoHasNoSecondTraining) {
  const plan::Job job = test::grpo_job();
  const Scenario scenario = scenario_of(job, software_of(job).value());
  EXPECT_THAT(planner::why_not_fused(scenario, test::co_located(job)),
              testing::Contains(HasSubstr("grpo trains no second role")));
}

}  // namespace
}  // namespace dovetail::predict
