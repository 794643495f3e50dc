// Time and memory of a critic with separate numbers of mini-batches and epochs.
#include <gtest/gtest.h>

#include <optional>
#include <string_view>

#include "predict/closed_form/scenario.h"
#include "predict/closed_form/software.h"
#include "predict/closed_form/training_phase.h"
#include "predict/closed_form/working_memory.h"
#include "support/jobs.h"

namespace dovetail::predict {
namespace {

/// Seconds of a train task, and the activations that its micro-batches keep.
struct Trained {
  cost::TrainingSeconds seconds;
  std::int64_t activations = 0;
};

Trained trained(const std::optional<workflow::OwnTraining>& critic, std::string_view name) {
  plan::Job job = test::ppo_job("nodes: 2, gpus_per_node: 8, gpu: H100");
  job.workload.critic = critic;
  plan::Plan plan = test::pipelined_on_16(job);
  const std::size_t task = workflow::find_task(job.workflow, name)->index();
  plan.tasks[task].micro_batching = {.sequences = 0, .tokens = 0, .count = 1};
  const Scenario scenario = scenario_of(job, software_of(job).value());
  Trained result{.seconds = closed_training_seconds(scenario, {task, plan.tasks[task]})};
  for (const MemoryPart& part : working_memory(scenario, task, plan.tasks[task]))
    if (part.kind == MemoryKind::activations) result.activations = part.bytes;
  return result;
}

TEST(CriticTraining, EpochsAreTrainedOneByOne) {
  const Trained once = trained(std::nullopt, "critic_train");
  const Trained twice = trained(workflow::OwnTraining{2, 2}, "critic_train");
  EXPECT_NEAR(twice.seconds.sum(), 2 * once.seconds.sum(), 1e-9 * once.seconds.sum());
  EXPECT_EQ(twice.activations, once.activations);
  EXPECT_EQ(trained(workflow::OwnTraining{2, 2}, "actor_train").seconds.sum(),
            trained(std::nullopt, "actor_train").seconds.sum());
}

TEST(CriticTraining, SmallerMiniBatchesStepMoreOftenAndHoldLess) {
  const Trained large = trained(std::nullopt, "critic_train");
  const Trained small = trained(workflow::OwnTraining{4, 1}, "critic_train");
  EXPECT_NEAR(small.seconds.optimizer, 2 * large.seconds.optimizer, 1e-9 * large.seconds.optimizer);
  EXPECT_NEAR(small.seconds.gradients, 2 * large.seconds.gradients, 1e-9 * large.seconds.gradients);
  EXPECT_LT(small.activations, large.activations);
  EXPECT_EQ(trained(workflow::OwnTraining{4, 1}, "actor_train").activations,
            trained(std::nullopt, "actor_train").activations);
}

}  // namespace
}  // namespace dovetail::predict
