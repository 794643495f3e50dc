#include "predict/closed_form/phase_schedule.h"

#include <gtest/gtest.h>

#include <string>

#include "pipeline/schedule/evaluate.h"
#include "pipeline/schedule/validate.h"
#include "plan/job_file.h"
#include "predict/closed_form/intra_stage.h"
#include "predict/closed_form/software.h"

namespace dovetail::predict {
namespace {

/// PPO on a node of eight GPUs with this much memory.
plan::Job ppo_job(int gib) {
  const std::string text =
      "format: dovetail/job@1\nalgorithm: ppo\n"
      "models: {actor: llama-3.2-3b, critic: llama-3.2-1b, reward: llama-3.2-1b}\n"
      "workload: {prompts: 128, mini_batches: 2, prompt_length: 128, response_length: 896}\n"
      "cluster: {nodes: 1, gpus_per_node: 8, gpu: {name: ours, memory: " +
      std::to_string(gib) + "GiB, bandwidth: 3TB/s, bf16: 900TFLOP/s}}\n";
  return plan::parse_job(text, "ppo.yaml").value();
}

/// Both trainings on all devices in pipelines, fused.
struct FusedPhase : testing::Test {
  plan::Job job = ppo_job(80);
  Scenario scenario = scenario_of(job, software_of(job).value());
  plan::Plan plan;
  std::vector<std::size_t> tasks;

  FusedPhase() {
    plan.placement = "custom";
    for (const workflow::Task& task : job.workflow.tasks) {
      plan::TaskPlan& planned = plan.tasks.emplace_back();
      planned.mesh = {0, 8};
      planned.layout.data = 8;
      if (task.kind != workflow::TaskKind::train) continue;
      planned.layout.data = 2;
      planned.layout.pipeline = 4;
      planned.layout.zero = 1;
      planned.micro_batching.sequences = 4;
      tasks.push_back(plan.tasks.size() - 1);
    }
    plan.fusion.training = {tasks[0], tasks[1]};
  }

  pipeline::Schedule schedule() const { return phase_schedule(scenario, plan, tasks).value().schedule; }
};

base::Ticks makespan_of(const pipeline::Schedule& schedule, const pipeline::Problem& problem) {
  return pipeline::retimed(schedule, problem)->claims.makespan.value();
}

TEST_F(FusedPhase, RunsThePredictedSchedule) { EXPECT_EQ(schedule(), *intra_stage(scenario, plan).schedule); }

TEST_F(FusedPhase, StaysWithinTheMemoryOfThePlan) {
  const pipeline::Schedule free = schedule();
  bool was_limited = false;
  for (int gib = 79; gib > 10; --gib) {
    const plan::Job of = ppo_job(gib);
    const Scenario smaller = scenario_of(of, software_of(of).value());
    const auto headroom = average_activation_headroom(smaller, plan);
    if (!headroom) break;
    const pipeline::Schedule within = phase_schedule(smaller, plan, tasks)->schedule;
    EXPECT_EQ(within, *intra_stage(smaller, plan).schedule);
    if (within.devices == free.devices) continue;
    was_limited = true;
    EXPECT_LT(*headroom, free.claims.peak_activation->count());
    EXPECT_LE(within.claims.peak_activation->count(), *headroom);
    break;
  }
  EXPECT_TRUE(was_limited);
}

TEST_F(FusedPhase, KeepsItsOrderIfTimesAreAsPredicted) {
  const pipeline::Schedule own = schedule();
  EXPECT_EQ(reordered(scenario, plan, own, own.problem).value(), own);
}

TEST_F(FusedPhase, ChangesItsOrderForMeasuredTimes) {
  const pipeline::Schedule own = schedule();
  pipeline::Problem measured = own.problem;
  // Compared with the prediction, the actor's forward passes take twice and the critic's passes four times as long.
  for (base::Ticks& time : measured.models[0].forward) time = time * 2;
  for (auto* const times : {&measured.models[1].forward, &measured.models[1].backward})
    for (base::Ticks& time : *times) time = time * 4;
  const auto found = reordered(scenario, plan, own, measured);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->problem, own.problem) << "the planned times are kept";
  EXPECT_FALSE(pipeline::validate(*found));
  const auto before = makespan_of(own, measured).count();
  const auto after = makespan_of(*found, measured).count();
  EXPECT_LT(static_cast<double>(after), (1 - min_gain_of_new_order) * static_cast<double>(before));
  EXPECT_EQ(*reordered(scenario, plan, own, measured), *found);
}

}  // namespace
}  // namespace dovetail::predict
