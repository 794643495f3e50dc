#include "place/step_seconds.h"

#include <algorithm>
#include <limits>

#include "cluster/mesh.h"
#include "cost/generation.h"
#include "cost/machine.h"
#include "cost/training.h"
#include "cost/training_memory.h"
#include "realloc/cost.h"
#include "realloc/plan.h"

namespace dovetail::place {
namespace {

using workflow::Task;
using workflow::TaskKind;

StepSeconds sum_of(std::vector<SecondsPart> parts) {
  StepSeconds seconds;
  for (const SecondsPart& part : parts) seconds.seconds += part.seconds;
  seconds.parts = std::move(parts);
  return seconds;
}

/// What one task of a plan is calculated from.
struct TaskGround {
  const Ground& ground;
  const plan::TaskPlan& plan;
  const Task& task;
  const cost::ModelFacts& facts;
  cost::Machine machine;
  double sequences;  ///< in an iteration; of training in an epoch
};

TaskGround task_ground(const Ground& ground, std::size_t index, const plan::TaskPlan& planned) {
  const Task& task = ground.job.workflow.tasks[index];
  const std::size_t role = ground.job.workflow.role_of[index]->index();
  return {ground,
          planned,
          task,
          ground.models[role],
          cost::machine_of(ground.job.cluster, planned.mesh, ground.software.efficiency),
          static_cast<double>(workflow::sequences_of(task, ground.job.workload))};
}

StepSeconds generation_of(const TaskGround& task) {
  const workflow::Workload& workload = task.ground.job.workload;
  const bool per_sample = task.task.sequences.per == workflow::SequenceCount::Per::sample;
  const cost::GenerationWork work{task.sequences, per_sample ? static_cast<double>(workload.samples_per_prompt) : 1,
                                  &workload.prompt_length, &workload.response_length};
  const cost::EngineLimits limits{static_cast<double>(task.plan.engine.max_num_seqs),
                                  std::max(0.0, key_value_room(task.facts, task.plan, task.machine.gpu))};
  const cost::GenerationSeconds seconds =
      cost::generation_seconds(task.facts, task.plan.layout, work, limits, task.machine, task.ground.software.efficiency);
  return sum_of({{"prefill", seconds.prefill}, {"decode, full batch", seconds.full}, {"decode, emptying batch", seconds.tail}});
}

std::vector<SecondsPart> parts_of(const cost::PipelineSeconds& pipeline) {
  return {{"compute", pipeline.slowest.compute},
          {"communication", pipeline.slowest.communication + pipeline.transfers},
          {"launch", pipeline.slowest.launch},
          {"bubbles", pipeline.bubbles}};
}

/// What comes from host memory before a task and goes back behind it, with the task's own overhead. Weights that do not change only come.
void add_overhead(const TaskGround& task, std::vector<SecondsPart>& parts) {
  const cost::MemoryParts most = cost::largest_static_memory(task.facts.model, task.plan.layout, task.ground.software.conventions);
  const bool trains = task.task.kind == TaskKind::train;
  const std::int64_t weights = trains ? 2 * most.weights : cost::weight_bytes(task.facts, task.plan.layout);
  std::int64_t bytes = task.plan.offload.weights ? weights : 0;
  if (trains && task.plan.offload.optimizer && !task.plan.offload.optimizer_on_host) bytes += 2 * most.optimizer;
  parts.push_back({"host transfers", cost::host_seconds(task.machine, static_cast<double>(bytes), task.ground.software.efficiency)});
  parts.push_back({"hand-over", task.ground.software.efficiency.task});
}

StepSeconds scoring_of(const TaskGround& task) {
  const cost::Batch batch = cost::batch_of(task.sequences, task.ground.lengths);
  std::vector<SecondsPart> parts = parts_of(
      cost::scoring_seconds(task.facts, task.plan.layout, batch, task.plan.micro_batching, task.machine, task.ground.software.efficiency));
  add_overhead(task, parts);
  return sum_of(std::move(parts));
}

StepSeconds training_of(const TaskGround& task) {
  const workflow::Workload& workload = task.ground.job.workload;
  cost::Batch batch = cost::batch_of(task.sequences * workload.epochs, task.ground.lengths);
  // Pretraining tokens come in sequences of the same kind.
  const double more = 1 + static_cast<double>(task.task.extra_tokens) * workload.epochs / batch.tokens.count;
  batch = cost::batch_of(batch.sequences * more, task.ground.lengths);
  const cost::Stepping stepping{static_cast<int>(workload.optimizer_steps()), task.plan.micro_batching};
  const cost::TrainingSeconds seconds =
      cost::training_seconds(task.facts, task.plan.layout, batch, stepping, task.machine, task.ground.software.efficiency);
  std::vector<SecondsPart> parts = parts_of(seconds.pipeline);
  parts.push_back({"gradients", seconds.gradients});
  parts.push_back({"optimizer", seconds.optimizer});
  add_overhead(task, parts);
  return sum_of(std::move(parts));
}

/// New weights from where `train` has them into an engine.
StepSeconds refit_of(const TaskGround& task, const plan::TaskPlan& train) {
  const bool apart = !cluster::overlap(task.plan.mesh, train.mesh);
  return sum_of({{"refit", cost::refit_seconds(task.facts, task.plan.mesh.count, apart, task.machine, task.ground.software.efficiency)}});
}

StepSeconds reallocation_of(const Ground& ground, const plan::Plan& plan, const plan::Step& step) {
  const llm::Transformer& model = plan::model_of(ground.job, workflow::TaskId(step.train));
  const plan::TaskPlan& from = plan.tasks[step.train];
  const plan::TaskPlan& to = plan.tasks[step.task];
  realloc::PlanOptions options;
  options.trained_only = model.adapter_rank > 0;
  const realloc::Plan moves =
      realloc::plan_reallocation(ground.job.cluster, {model, from.layout, from.mesh}, {model, to.layout, to.mesh}, options);
  const cluster::Links links =
      cluster::links_of(ground.job.cluster, cluster::hull_of(from.mesh, to.mesh), ground.software.efficiency.links);
  return sum_of({{"transfer", realloc::reallocation_seconds(moves, links).seconds}});
}

}  // namespace

Ground ground_of(const plan::Job& job, const Software& software) {
  Ground ground{job, software, {}, cost::whole_lengths(job.workload.prompt_length, job.workload.response_length)};
  for (const llm::Transformer& model : job.models) ground.models.push_back(cost::facts_of(model));
  return ground;
}

std::int64_t engine_weight_bytes(const cost::ModelFacts& facts, llm::Layout layout) {
  if (facts.model.experts && layout.expert == 1) layout.expert_tensor = layout.tensor;
  return cost::weight_bytes(facts, layout);
}

double key_value_room(const cost::ModelFacts& facts, const plan::TaskPlan& task, const cluster::Gpu& gpu) {
  if (!task.engine.own_weights) return std::numeric_limits<double>::max();
  constexpr double reserve = 4e9;
  const auto weights = static_cast<double>(engine_weight_bytes(facts, task.layout));
  return task.engine.memory_utilization * static_cast<double>(gpu.memory) - weights - reserve;
}

StepSeconds task_seconds(const Ground& ground, std::size_t index, const plan::TaskPlan& planned) {
  const Task& task = ground.job.workflow.tasks[index];
  switch (task.kind) {
    case TaskKind::generate:
      return generation_of(task_ground(ground, index, planned));
    case TaskKind::infer:
      return scoring_of(task_ground(ground, index, planned));
    case TaskKind::train:
      return training_of(task_ground(ground, index, planned));
    case TaskKind::rule:
      break;
  }
  const auto sequences = static_cast<double>(workflow::sequences_of(task, ground.job.workload));
  return sum_of({{"rule", sequences * static_cast<double>(task.time_per_sequence.count()) * 1e-9}});
}

StepSeconds step_seconds(const Ground& ground, const plan::Plan& plan, const plan::Step& step) {
  const plan::TaskPlan& planned = plan.tasks[step.task];
  if (step.kind == plan::Step::Kind::task) return task_seconds(ground, step.task, planned);
  if (plan::has_own_weights(ground.job, plan, step.task)) return refit_of(task_ground(ground, step.task, planned), plan.tasks[step.train]);
  return reallocation_of(ground, plan, step);
}

}  // namespace dovetail::place
