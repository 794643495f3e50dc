// Jobs with plans for the tests of studies.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "predict/closed_form/software.h"
#include "study/what_if.h"
#include "support/jobs.h"
#include "workflow/workflow.h"

namespace dovetail::test {

/// A job with its scenario and a plan.
struct Scene {
  Scene(plan::Job of, plan::Plan with)
      : job(std::move(of)),
        scenario(predict::scenario_of(job, predict::software_of(job).value())),
        plan(std::move(with)) {}
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  std::size_t task(std::string_view name) const { return workflow::find_task(job.workflow, name)->index(); }

  plan::Job job;
  predict::Scenario scenario;
  plan::Plan plan;
};

/// PPO with an actor Qwen3-4B and a reward model Qwen3-1.7B on one node. `lengths` is the value of response_length.
inline plan::Job ppo_with(const std::string& lengths, int prompts = 64) {
  return plan::parse_job(
             "format: dovetail/job@1\nname: small\nalgorithm: ppo\nmodels: {actor: qwen3-4b, reward: qwen3-1.7b}\n"
             "workload: {prompts: " +
                 std::to_string(prompts) + ", mini_batches: 2, prompt_length: 128, response_length: " + lengths +
                 "}\ncluster: {nodes: 1, gpus_per_node: 8, gpu: H100, host_memory: 1TB}\n",
             "small.yaml")
      .value();
}

/// All tasks on eight devices: one engine per device, and both training tasks in pipelines of `stages` stages.
inline plan::Plan pipelined(const plan::Job& job, int stages) {
  plan::Plan plan;
  plan.placement = "custom";
  for (const workflow::Task& task : job.workflow.tasks) {
    plan::TaskPlan& planned = plan.tasks.emplace_back();
    if (task.kind == workflow::TaskKind::rule) continue;
    planned.mesh = {0, 8};
    planned.layout.data = 8;
    planned.offload.weights = task.kind == workflow::TaskKind::infer;
    if (task.kind == workflow::TaskKind::generate) planned.engine.memory_utilization = 0.5;
    if (task.kind != workflow::TaskKind::generate) planned.micro_batching.tokens = 2048;
    if (task.kind != workflow::TaskKind::train) continue;
    planned.layout.pipeline = stages;
    planned.layout.data = 8 / stages;
    planned.layout.zero = 1;
    planned.layout.recomputation = llm::Recomputation::full;
  }
  return plan;
}

/// Options with which searches for fused schedules take little time.
inline study::WhatIfOptions quick_what_ifs() {
  study::WhatIfOptions options;
  options.simulation.fused.iterations = 50;
  return options;
}

inline const std::string long_tail = "{p50: 200, sigma: 1, cap: 4096}";

}  // namespace dovetail::test
