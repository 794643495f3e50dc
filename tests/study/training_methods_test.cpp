#include "study/training_methods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "predict/closed_form/intra_stage.h"
#include "predict/closed_form/training_phase.h"
#include "support/scenes.h"

namespace dovetail::study {
namespace {

using test::pipelined;
using test::ppo_with;
using test::Scene;
using testing::HasSubstr;

TrainingAlternative alternative_of(const Scene& scene, TrainingMethod method) {
  return training_alternative(scene.scenario, scene.plan, method);
}

TrainingAlternative fused_of(const Scene& scene) {
  const plan::TrainPair pair = *plan::train_pair(scene.job);
  plan::Plan plan = scene.plan;
  plan.fusion.training = pair;
  const predict::IntraStage fused = predict::intra_stage(scene.scenario, plan);
  return fused_alternative(scene.scenario, scene.plan, pair, {fused.schedule_seconds, fused.activations.value()});
}

double scheduled(const Scene& scene, std::string_view task) {
  return predict::scheduled_training_seconds(scene.scenario, {scene.task(task), scene.plan.tasks[scene.task(task)]})
      .value();
}

TEST(TrainingMethods, SerialIsTheSumOfBothSchedules) {
  const plan::Job job = ppo_with(test::long_tail);
  const Scene scene(job, pipelined(job, 4));
  const TrainingAlternative serial = alternative_of(scene, TrainingMethod::serial);
  EXPECT_NEAR(serial.seconds, scheduled(scene, "actor_train") + scheduled(scene, "critic_train"), 1e-9);
  EXPECT_EQ(serial.how, "one training after the other");
  EXPECT_TRUE(serial.planned);
  EXPECT_TRUE(serial.fits());
  EXPECT_GT(serial.activations, 0);
}

TEST(TrainingMethods, TasksOnSeparateDevicesRunInParallel) {
  const plan::Job job = ppo_with(test::long_tail);
  Scene scene(job, pipelined(job, 4));
  for (const auto& [name, first] : {std::pair("actor_train", 0), std::pair("critic_train", 4)}) {
    plan::TaskPlan& planned = scene.plan.tasks[scene.task(name)];
    planned.mesh = {first, 4};
    planned.layout.data = 1;
  }
  const TrainingAlternative serial = alternative_of(scene, TrainingMethod::serial);
  EXPECT_NEAR(serial.seconds, std::max(scheduled(scene, "actor_train"), scheduled(scene, "critic_train")), 1e-9);
  EXPECT_EQ(serial.how, "the trainings run in parallel on separate devices");
}

TEST(TrainingMethods, SingleStagePipelinesHaveNoGain) {
  const plan::Job job = ppo_with(test::long_tail);
  const Scene scene(job, pipelined(job, 1));
  for (const TrainingMethod method :
       {TrainingMethod::interleaved, TrainingMethod::zero_bubble, TrainingMethod::smaller_micro_batches})
    EXPECT_THAT(alternative_of(scene, method).why_not, HasSubstr("one stage")) << name_of(method);
}

TEST(TrainingMethods, InterleavedEqualsAPlanWithVirtualStages) {
  const plan::Job job = ppo_with("512");
  Scene scene(job, pipelined(job, 4));
  for (const char* name : {"actor_train", "critic_train"}) scene.plan.tasks[scene.task(name)].layout.virtual_stages = 2;
  const TrainingAlternative interleaved = alternative_of(scene, TrainingMethod::interleaved);
  EXPECT_TRUE(interleaved.planned);
  EXPECT_FALSE(alternative_of(scene, TrainingMethod::serial).planned);
  EXPECT_LE(interleaved.seconds, scheduled(scene, "actor_train") + scheduled(scene, "critic_train") + 1e-9);
}

TEST(TrainingMethods, PlanWithMixedSettingsIsASeparateMethod) {
  const plan::Job job = ppo_with("512");
  Scene scene(job, pipelined(job, 4));
  scene.plan.tasks[scene.task("actor_train")].layout.virtual_stages = 2;
  EXPECT_FALSE(alternative_of(scene, TrainingMethod::interleaved).planned);
  EXPECT_FALSE(alternative_of(scene, TrainingMethod::serial).planned);
  const TrainingAlternative planned = alternative_of(scene, TrainingMethod::as_planned);
  EXPECT_TRUE(planned.planned);
  EXPECT_EQ(planned.how, "actor_train with 2 virtual stages");
  EXPECT_NEAR(planned.seconds, scheduled(scene, "actor_train") + scheduled(scene, "critic_train"), 1e-9);
}

TEST(TrainingMethods, AdaptersHaveNoWeightGradientsToDefer) {
  const plan::Job job =
      plan::parse_job(
          "format: dovetail/job@1\nname: small\nalgorithm: sft\nmodels: {actor: {model: qwen3-4b, lora: 8}}\n"
          "workload: {prompts: 64, prompt_length: 128, response_length: 512}\n"
          "cluster: {nodes: 1, gpus_per_node: 8, gpu: H100}\n",
          "small.yaml")
          .value();
  const Scene scene(job, pipelined(job, 4));
  EXPECT_THAT(alternative_of(scene, TrainingMethod::zero_bubble).why_not, HasSubstr("frozen weights"));
}

TEST(TrainingMethods, ReportsMethodsThatDoNotFit) {
  const plan::Job job = ppo_with("4096");
  Scene scene(job, pipelined(job, 2));
  for (const char* name : {"actor_train", "critic_train"}) {
    plan::TaskPlan& planned = scene.plan.tasks[scene.task(name)];
    planned.layout.recomputation = llm::Recomputation::none;
    planned.micro_batching.tokens = 65536;
  }
  EXPECT_FALSE(alternative_of(scene, TrainingMethod::serial).fits());
  EXPECT_TRUE(alternative_of(scene, TrainingMethod::smaller_micro_batches).fits());
}

/// Plan with micro-batches of a given size. No way is faster than the work of its busiest stage, and fusion is never
/// slower than the schedules it contains.
void expect_between_bound_and_serial(const plan::Job& job, int stages, double tokens) {
  Scene scene(job, pipelined(job, stages));
  double busiest = 0;
  for (const char* name : {"actor_train", "critic_train"}) {
    scene.plan.tasks[scene.task(name)].micro_batching.tokens = tokens;
    const cost::TrainingPasses passes =
        predict::training_passes(scene.scenario, {scene.task(name), scene.plan.tasks[scene.task(name)]});
    double most = 0;
    for (const cost::ChunkPasses& chunk : passes.chunks)
      most = std::max(most, chunk.forward.sum() + chunk.backward.sum());
    busiest += most * passes.micro_batches * static_cast<double>(job.workload.optimizer_steps());
  }
  const TrainingAlternative serial = alternative_of(scene, TrainingMethod::serial);
  const TrainingAlternative zero_bubble = alternative_of(scene, TrainingMethod::zero_bubble);
  EXPECT_GE(zero_bubble.seconds, busiest * (1 - 1e-6));
  EXPECT_LE(zero_bubble.seconds, serial.seconds * (1 + 1e-6));
  EXPECT_GE(zero_bubble.activations, serial.activations);
  // With equal layouts, the serial schedule of the fused problem is the serial way.
  EXPECT_LE(fused_of(scene).seconds, serial.seconds * (1 + 1e-9));
}

TEST(TrainingMethods, LieBetweenTheBoundAndSerial) {
  for (const std::string& lengths : {std::string("512"), test::long_tail})
    for (const int stages : {2, 4})
      for (const double tokens : {2048.0, 8192.0}) {
        SCOPED_TRACE(lengths + ", " + std::to_string(stages) + " stages, " + std::to_string(tokens));
        expect_between_bound_and_serial(ppo_with(lengths), stages, tokens);
      }
}

}  // namespace
}  // namespace dovetail::study
