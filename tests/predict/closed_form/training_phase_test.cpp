// Training phases as pipeline problems, their schedules compared with the closed form, and two fused phases.
#include "predict/closed_form/training_phase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <variant>

#include "fuse/constructions/constructions.h"
#include "plan/job_file.h"
#include "predict/closed_form/software.h"

namespace dovetail::predict {
namespace {

using testing::HasSubstr;

/// PPO on `nodes` nodes of eight H100: an actor of 36 layers, a critic of 28 with a negligible head, two mini-batches.
plan::Job ppo_job(int nodes) {
  const std::string text =
      "format: dovetail/job@1\nalgorithm: ppo\n"
      "models: {actor: qwen3-8b, critic: llama-3.2-3b, reward: llama-3.2-3b}\n"
      "workload: {prompts: 512, mini_batches: 2, prompt_length: 128, response_length: 896}\n"
      "cluster: {nodes: " +
      std::to_string(nodes) + ", gpus_per_node: 8, gpu: H100}\n";
  return plan::parse_job(text, "ppo.yaml").value();
}

std::size_t task_of(const plan::Job& job, std::string_view name) {
  return workflow::find_task(job.workflow, name)->index();
}

plan::TaskPlan planned(int data, int tensor, int pipeline, int virtual_stages, double sequences) {
  plan::TaskPlan plan;
  plan.mesh = {0, data * tensor * pipeline};
  plan.layout.data = data;
  plan.layout.tensor = tensor;
  plan.layout.pipeline = pipeline;
  plan.layout.virtual_stages = virtual_stages;
  plan.layout.zero = 1;
  plan.micro_batching.sequences = sequences;
  return plan;
}

base::Ticks makespan_of(const fuse::Answer& answer) { return std::get<fuse::Solution>(answer).evaluation.makespan; }

struct Phase : testing::Test {
  plan::Job job = ppo_job(2);
  Scenario scenario = scenario_of(job, software_of(job).value());
  std::size_t actor = task_of(job, "actor_train");
  std::size_t critic = task_of(job, "critic_train");
};

TEST_F(Phase, OneStageIsTheSumOfItsPasses) {
  const plan::TaskPlan plan = planned(16, 1, 1, 1, 2);
  const pipeline::Problem problem = training_problem(scenario, {critic, plan}).value();
  const pipeline::Model& model = problem.models.front();
  EXPECT_EQ(problem.devices, 1);
  EXPECT_EQ(model.minibatches, 2);
  EXPECT_EQ(model.microbatches, 8);  // 512 samples, 2 mini-batches, 16 ranks, 2 sequences each
  const base::Ticks sum = (model.forward[0] + model.backward[0]) * 16 + model.step[0] * 2;
  EXPECT_DOUBLE_EQ(scheduled_training_seconds(scenario, {critic, plan}).value(), base::seconds_of_ticks(sum));
  EXPECT_NEAR(closed_training_seconds(scenario, {critic, plan}).sum(), base::seconds_of_ticks(sum), 1e-6);
}

TEST_F(Phase, EqualStagesWithoutMessagesFillAndDrainOnce) {
  const plan::TaskPlan plan = planned(4, 1, 4, 1, 2);
  pipeline::Problem problem = training_problem(scenario, {critic, plan}).value();
  pipeline::Model& model = problem.models.front();
  EXPECT_EQ(model.microbatches, 32);
  for (std::size_t stage = 1; stage < 3; ++stage) EXPECT_EQ(model.forward[stage], model.forward[0]);
  EXPECT_GT(model.transfer_forward[0], base::Ticks(0));
  // A scalar head: 4096 products per token, which is negligible.
  EXPECT_LT(model.forward[3].count() - model.forward[0].count(), model.forward[0].count() / 1000);
  model.forward[3] = model.forward[0];
  model.backward[3] = model.backward[0];
  model.transfer_forward.assign(3, base::Ticks(0));
  model.transfer_backward.assign(3, base::Ticks(0));
  const base::Ticks each = (model.forward[0] + model.backward[0]) * (32 + 4 - 1) + model.step[0];
  EXPECT_EQ(makespan_of(fuse::solve_1f1b(problem, {})), each * 2);
}

TEST_F(Phase, VirtualStagesGoRoundTheDevices) {
  const plan::TaskPlan plan = planned(4, 1, 4, 3, 3);
  const pipeline::Problem problem = training_problem(scenario, {actor, plan}).value();
  const pipeline::Model& model = problem.models.front();
  EXPECT_EQ(problem.devices, 4);
  EXPECT_EQ(model.stages(), 12);
  EXPECT_EQ(model.replicas.front(), pipeline::device_list({0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}));
  // 64 sequences of a rank make 22 micro-batches of up to three, rounded up to 24, a multiple of four stages.
  EXPECT_EQ(model.microbatches, 24);
  // The head is on the last chunk. Activations of a stage are divided among its chunks.
  EXPECT_GT(model.forward[11], model.forward[10]);
  const pipeline::Problem whole = training_problem(scenario, {actor, planned(4, 1, 4, 1, 3)}).value();
  const double chunks =
      static_cast<double>((model.activation[0] + model.activation[4] + model.activation[8]).count()) * 24;
  EXPECT_NEAR(chunks, static_cast<double>(whole.models.front().activation[0].count()) * 22, 1e-4 * chunks);
}

RC_GTEST_PROP(TrainingPhase, ClosedFormAndScheduleAgree, ()) {
  const plan::Job job = ppo_job(*rc::gen::element(1, 3, 6));
  const Scenario scenario = scenario_of(job, software_of(job).value());
  const int devices = cluster::device_count(job.cluster);
  const int tensor = *rc::gen::element(1, 2);
  const int pipeline = *rc::gen::element(1, 2, 4, devices / 2);
  const int rounds = pipeline > 1 && pipeline <= 8 ? *rc::gen::inRange(1, 4) : 1;
  const plan::TaskPlan plan = planned(devices / tensor / pipeline, tensor, pipeline, rounds, *rc::gen::inRange(1, 9));
  const auto task = task_of(job, *rc::gen::element("actor_train", "critic_train"));
  RC_PRE(!llm::find_fault(plan.layout, scenario.models[job.workflow.role_of[task]->index()].model));
  const double schedule = scheduled_training_seconds(scenario, {task, plan}).value();
  const double closed = closed_training_seconds(scenario, {task, plan}).sum();
  RC_ASSERT(std::abs(closed / schedule - 1) < 0.005);
}

TEST_F(Phase, FusedIsBetweenItsBoundAndTheSequence) {
  const plan::TaskPlan large = planned(2, 2, 4, 1, 8);
  const plan::TaskPlan small = planned(4, 1, 4, 1, 8);
  const pipeline::FusedLayouts fused = fused_training_problem(scenario, {actor, large}, {critic, small}).value();
  EXPECT_EQ(fused.merged_model, 1);
  EXPECT_EQ(fused.merged_stages, 2);
  EXPECT_EQ(fused.copies[1], 2);
  const double bound = fused_training_bound(scenario, {actor, large}, {critic, small}).value();
  const double found = fused_schedule(scenario, {actor, large}, {critic, small}, 2000)->seconds;
  const double in_turn = base::seconds_of_ticks(makespan_of(fuse::solve_1f1b(fused.problem, {})));
  EXPECT_GT(bound, 0);
  EXPECT_LE(bound, found);
  EXPECT_LT(found, in_turn);
  // Each takes at least its own time, and no device has less than its work of both.
  EXPECT_GT(bound, scheduled_training_seconds(scenario, {actor, large}).value() * 0.98);
  EXPECT_EQ(found, fused_schedule(scenario, {actor, large}, {critic, small}, 2000)->seconds);
}

TEST_F(Phase, FusedPipelinesKeepTheirMessagesAndSteps) {
  const plan::TaskPlan large = planned(2, 2, 4, 1, 8);
  const plan::TaskPlan small = planned(4, 1, 4, 1, 8);
  const pipeline::Problem fused = fused_training_problem(scenario, {actor, large}, {critic, small})->problem;
  const pipeline::Model alone = training_problem(scenario, {critic, small})->models.front();
  const pipeline::Model& merged = fused.models[1];
  EXPECT_EQ(merged.minibatches, 2);
  EXPECT_EQ(merged.step, std::vector<base::Ticks>(2, alone.step[0]));
  for (const pipeline::Model& model : fused.models) {
    EXPECT_EQ(model.step_after, pipeline::StepAfter::model) << "clipping by the norm of all gradients";
    EXPECT_EQ(model.step_before, pipeline::StepBefore::replicas) << "ZeRO 1 gathers weights";
  }
  EXPECT_EQ(merged.transfer_forward.at(0), alone.transfer_forward[1]);
  // Two stages and the message between them are one op.
  EXPECT_EQ(merged.forward[0], alone.forward[0] + alone.forward[1] + alone.transfer_forward[0]);
  EXPECT_EQ(fused.models[0].forward, training_problem(scenario, {actor, large})->models.front().forward);
}

TEST_F(Phase, OnlyZeroGathersWeightsOfReplicas) {
  plan::TaskPlan plan = planned(4, 1, 4, 1, 2);
  const auto before = [&] { return training_problem(scenario, {critic, plan})->models.front().step_before; };
  EXPECT_EQ(before(), pipeline::StepBefore::replicas);
  plan.layout.zero = 0;
  EXPECT_EQ(before(), pipeline::StepBefore::own);
  plan.layout.zero = 1;
  plan.layout.data = 1;
  EXPECT_EQ(before(), pipeline::StepBefore::own);
}

TEST_F(Phase, ReportsTrainingsThatCannotBeFused) {
  const auto message = [&](const TrainTask& first, const TrainTask& second) {
    return fused_training_problem(scenario, first, second).error().message;
  };
  const plan::TaskPlan plan = planned(2, 2, 4, 1, 2);
  const plan::TaskPlan half = planned(1, 2, 4, 1, 2);
  const plan::TaskPlan interleaved = planned(2, 2, 4, 2, 2);
  const plan::TaskPlan wide = planned(2, 8, 1, 1, 2);
  const plan::TaskPlan flat = planned(16, 1, 1, 1, 2);
  EXPECT_THAT(message({actor, plan}, {actor, plan}), HasSubstr("both tasks train the same role"));
  EXPECT_THAT(message({actor, plan}, {critic, half}), HasSubstr("the same devices"));
  EXPECT_THAT(message({actor, plan}, {critic, interleaved}), HasSubstr("critic_train has 2 virtual stages"));
  EXPECT_THAT(message({actor, wide}, {critic, flat}), HasSubstr("critic_train"));
  EXPECT_FALSE(fused_training_bound(scenario, {actor, wide}, {critic, flat}).ok());
  EXPECT_FALSE(fused_schedule(scenario, {actor, plan}, {actor, plan}, 100).ok());
}

}  // namespace
}  // namespace dovetail::predict
