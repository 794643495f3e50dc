// Jobs and plans that the tests share.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "cluster/clusters.h"
#include "llm/random_transformer.h"
#include "plan/job_file.h"
#include "plan/plan.h"
#include "workflow/algorithms.h"

namespace dovetail::plan::test {

/// A job of 7B models with this `algorithm`, on nodes of eight H100.
inline Job job_of(const std::string& algorithm, int nodes = 1, int steps_off_policy = 0) {
  const bool has_actor = algorithm.find("reward_model") == std::string::npos;
  const bool has_reward = algorithm.find("rule") == std::string::npos && algorithm.find("dpo") == std::string::npos;
  const std::string models = std::string(has_actor ? "actor: llama-2-7b" : "") + (has_actor && has_reward ? ", " : "") +
                             std::string(has_reward ? "reward: llama-2-7b" : "");
  return parse_job("{format: dovetail/job@1, algorithm: " + algorithm + ", models: {" + models +
                       "}, workload: {prompts: 64, prompt_length: 100, response_length: 500, steps_off_policy: " +
                       std::to_string(steps_off_policy) + "}, cluster: {nodes: " + std::to_string(nodes) +
                       ", gpus_per_node: 8, gpu: H100}}",
                   "job.yaml")
      .value();
}

inline llm::Layout layout_of(int data, int tensor = 1, int pipeline = 1) {
  llm::Layout layout;
  layout.data = data;
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  return layout;
}

/// All tasks on `mesh`, data-parallel.
inline Plan together(const Job& job, cluster::Mesh mesh) {
  TaskPlan task;
  task.mesh = mesh;
  task.layout = layout_of(mesh.count);
  task.micro_batching.tokens = 8192;
  Plan plan;
  plan.placement = "co-located";
  plan.tasks.assign(job.workflow.tasks.size(), task);
  return plan;
}

inline std::size_t index_of(const Job& job, std::string_view task) {
  return workflow::find_task(job.workflow, task)->index();
}

/// The TaskPlan of the task with this name.
inline TaskPlan& task_of(Plan& plan, const Job& job, std::string_view task) { return plan.tasks[index_of(job, task)]; }

/// A random algorithm with random options, on a random cluster of a few nodes, with small models.
inline Job random_job() {
  const workflow::Algorithm& algorithm = *rc::gen::elementOf(workflow::algorithms());
  workflow::AlgorithmOptions options = algorithm.defaults;
  options.reference = *rc::gen::element(workflow::ReferenceUse::pass, workflow::ReferenceUse::averaged);
  options.reward = *rc::gen::element(workflow::RewardUse::model, workflow::RewardUse::rule);
  options.policy_log_probabilities =
      *rc::gen::element(workflow::LogProbabilities::engine, workflow::LogProbabilities::trainer);
  const auto ten_tokens = workflow::LengthDistribution::fixed(10);
  Job job{.name = *rc::gen::element<std::string>("job", "a \"quoted\" job", "ein Auftrag für 8 GPUs"),
          .workflow = algorithm.make(options),
          .workload = {.prompt_length = ten_tokens, .response_length = ten_tokens},
          .models = {},
          .cluster = cluster::test::random_cluster(),
          .software = {}};
  job.workload.steps_off_policy = *rc::gen::element(0, 0, 1, 2);
  for (const workflow::Role& role : job.workflow.roles) {
    llm::Transformer model = *llm::test::random_transformer();
    model.head = llm::Head::language_model;
    job.models.push_back(role.head == workflow::Head::scalar ? llm::with_scalar_head(std::move(model))
                                                             : std::move(model));
  }
  return job;
}

/// A random valid layout of `model` for this many devices.
inline llm::Layout random_layout(const llm::Transformer& model, int devices) {
  const auto divisor = [](int number) {
    std::vector<int> divisors;
    for (int candidate = 1; candidate <= number; ++candidate)
      if (number % candidate == 0) divisors.push_back(candidate);
    return *rc::gen::elementOf(divisors);
  };
  llm::Layout layout;
  layout.tensor = divisor(devices);
  layout.pipeline = divisor(devices / layout.tensor);
  layout.context = divisor(devices / layout.tensor / layout.pipeline);
  layout.data = devices / layout.tensor / layout.pipeline / layout.context;
  layout.expert = *rc::gen::element(1, 1, 2);
  layout.expert_tensor = *rc::gen::element(1, 1, 2);
  layout.virtual_stages = *rc::gen::element(1, 1, 2);
  if (layout.pipeline > 1 && *rc::gen::arbitrary<bool>()) {
    layout.stage_layers.assign(static_cast<std::size_t>(layout.pipeline), 0);
    layout.stage_layers.back() = static_cast<int>(model.layers);
  }
  if (llm::find_fault(layout, model)) {
    layout = {};
    layout.data = devices;
  }
  layout.zero = *rc::gen::inRange(0, 4);
  layout.sequence_parallel = *rc::gen::arbitrary<bool>();
  layout.recomputation =
      *rc::gen::element(llm::Recomputation::none, llm::Recomputation::selective, llm::Recomputation::full);
  return layout;
}

inline TaskPlan random_task_plan(const Job& job, std::size_t task) {
  TaskPlan plan;
  const workflow::TaskKind kind = job.workflow.tasks[task].kind;
  if (kind == workflow::TaskKind::rule) return plan;
  plan.mesh = *rc::gen::elementOf(cluster::meshes_of(job.cluster));
  plan.layout = random_layout(model_of(job, workflow::TaskId(task)), plan.mesh.count);
  if (kind == workflow::TaskKind::generate) {
    plan.engine.memory_utilization = *rc::gen::element(0.9, 0.6, 1.0, 0.0123456789, 0.1 + 0.2);
    plan.engine.max_num_seqs = *rc::gen::inRange(1, 5000);
    plan.engine.max_num_batched_tokens = *rc::gen::inRange<std::int64_t>(plan.engine.max_num_seqs, 100'000);
    plan.engine.cuda_graphs = *rc::gen::arbitrary<bool>();
    plan.engine.chunked_prefill = *rc::gen::arbitrary<bool>();
    plan.engine.longest_first = *rc::gen::arbitrary<bool>();
    plan.engine.own_weights = *rc::gen::arbitrary<bool>();
  } else {
    const int amount = *rc::gen::inRange(1, 1 << 24);
    *rc::gen::element(0, 1, 2) == 0   ? plan.micro_batching.count = amount
    : *rc::gen::element(0, 1, 2) == 0 ? plan.micro_batching.sequences = amount
                                      : plan.micro_batching.tokens = amount;
  }
  for (bool Offload::* flag :
       {&Offload::weights, &Offload::gradients, &Offload::optimizer, &Offload::optimizer_on_host})
    plan.offload.*flag = *rc::gen::arbitrary<bool>();
  return plan;
}

/// A random valid plan of `job`.
inline Plan random_plan(const Job& job) {
  Plan plan;
  plan.placement = *rc::gen::element<std::string>("custom", "co-located", "the \\ one");
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task)
    plan.tasks.push_back(random_task_plan(job, task));
  return plan;
}

}  // namespace dovetail::plan::test
