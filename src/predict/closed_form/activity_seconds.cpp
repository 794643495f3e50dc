#include "predict/closed_form/activity_seconds.h"

#include <algorithm>
#include <limits>

#include "cluster/mesh.h"
#include "cost/machine.h"
#include "cost/training.h"
#include "cost/training_memory.h"
#include "plan/framework.h"
#include "predict/closed_form/scenario.h"
#include "predict/closed_form/training_phase.h"
#include "realloc/cost.h"
#include "realloc/plan.h"

namespace dovetail::predict {
namespace {

using workflow::Task;
using workflow::TaskKind;

/// Input of the cost functions for one task of a plan.
struct TaskScenario {
  const Scenario& scenario;
  const plan::TaskPlan& plan;
  const Task& task;
  const cost::ModelFacts& facts;
  cost::Machine machine;
  double sequences;  ///< per iteration
};

TaskScenario task_scenario(const Scenario& scenario, std::size_t index, const plan::TaskPlan& planned) {
  const Task& task = scenario.job.workflow.tasks[index];
  return {scenario,
          planned,
          task,
          facts_of(scenario, index),
          cost::machine_of(scenario.job.cluster, planned.mesh, scenario.software.efficiency),
          static_cast<double>(workflow::sequences_of(task, scenario.job.workload))};
}

cost::GenerationSeconds generation_of(const TaskScenario& task) {
  const workflow::Workload& workload = task.scenario.job.workload;
  const bool per_sample = task.task.sequences.per == workflow::SequenceCount::Per::sample;
  const cost::GenerationWork work{task.sequences, per_sample ? static_cast<double>(workload.samples_per_prompt) : 1,
                                  &workload.prompt_length, &workload.response_length};
  const plan::Engine engine = engine_in_use(task.plan.engine);
  const cost::EngineLimits limits{
      static_cast<double>(engine.max_num_seqs),
      std::max(0.0, key_value_capacity(task.facts, task.plan, task.machine.gpu, task.scenario.job.software.engine)),
      static_cast<double>(engine.max_num_batched_tokens), engine.chunked_prefill};
  return cost::generation_seconds(task.facts, task.plan.layout, work, limits, task.machine,
                                  task.scenario.software.efficiency);
}

std::vector<SecondsPart> parts_of(const cost::PipelineSeconds& pipeline) {
  return {{SecondsOf::compute, pipeline.slowest.compute},
          {SecondsOf::communication, pipeline.slowest.communication + pipeline.transfers},
          {SecondsOf::launch, pipeline.slowest.launch},
          {SecondsOf::bubbles, pipeline.bubbles}};
}

/// Returns the bytes loaded from host memory, on the device that loads most. Training, and an engine that copies its
/// weights, unload the same number.
std::int64_t loaded_bytes_of(const TaskScenario& task) {
  const bool trains = task.task.kind == TaskKind::train;
  if (task.task.kind == TaskKind::generate) {
    const bool copies =
        task.plan.offload.weights && task.plan.engine.own_weights && plan::engine_copies(task.scenario.job);
    return copies ? engine_weight_bytes(task.facts, task.plan.layout) : 0;
  }
  if (!trains) return task.plan.offload.weights ? cost::weight_bytes(task.facts, task.plan.layout) : 0;
  const cost::MemoryParts most =
      cost::max_static_memory(task.facts.model, task.plan.layout, task.scenario.software.conventions);
  const double share = host_share(task.plan, task.scenario.software.conventions);
  const std::int64_t optimizer = most.optimizer - part_of(most.optimizer, share);
  return (task.plan.offload.weights ? most.weights : 0) + (task.plan.offload.optimizer ? optimizer : 0);
}

OverheadSeconds overhead_of(const TaskScenario& task) {
  const bool generates = task.task.kind == TaskKind::generate;
  const std::int64_t bytes = loaded_bytes_of(task) * (generates || task.task.kind == TaskKind::train ? 2 : 1);
  const cost::Efficiency& efficiency = task.scenario.software.efficiency;
  return {cost::host_seconds(task.machine, static_cast<double>(bytes), efficiency), generates ? 0 : efficiency.task};
}

/// Returns the seconds of a load or an unload alone.
ActivitySeconds host_transfer_of(const Scenario& scenario, const plan::Plan& plan, const plan::Activity& activity) {
  const TaskScenario task = task_scenario(scenario, activity.task, plan.tasks[activity.task]);
  const auto bytes = static_cast<double>(loaded_bytes_of(task));
  return sum_of({{SecondsOf::host_transfers, cost::host_seconds(task.machine, bytes, scenario.software.efficiency)}});
}

void add_overhead(const TaskScenario& task, std::vector<SecondsPart>& parts) {
  const OverheadSeconds overhead = overhead_of(task);
  parts.push_back({SecondsOf::host_transfers, overhead.host_transfers});
  parts.push_back({SecondsOf::hand_over, overhead.hand_over});
}

ActivitySeconds inference_of(const TaskScenario& task, std::size_t index) {
  const cost::Batch batch = batch_of(task.scenario, index);
  std::vector<SecondsPart> parts = parts_of(cost::inference_seconds(
      task.facts, task.plan.layout, batch, task.plan.micro_batching, task.machine, task.scenario.software.efficiency));
  add_overhead(task, parts);
  return sum_of(std::move(parts));
}

ActivitySeconds training_of(const TaskScenario& task, std::size_t index) {
  const cost::TrainingSeconds seconds = closed_training_seconds(task.scenario, {index, task.plan});
  std::vector<SecondsPart> parts = parts_of(seconds.pipeline);
  parts.push_back({SecondsOf::gradients, seconds.gradients});
  parts.push_back({SecondsOf::optimizer, seconds.optimizer});
  add_overhead(task, parts);
  return sum_of(std::move(parts));
}

/// Returns the seconds of a weight sync from `train` to an engine.
ActivitySeconds weight_sync_of(const TaskScenario& task, const plan::TaskPlan& train) {
  const bool apart = !cluster::overlap(task.plan.mesh, train.mesh);
  return sum_of({{SecondsOf::weight_sync, cost::weight_sync_seconds(task.facts, task.plan.mesh.count, apart,
                                                                    task.machine, task.scenario.software.efficiency)}});
}

ActivitySeconds reallocation_of(const Scenario& scenario, const plan::Plan& plan, const plan::Activity& activity) {
  const Reallocation moving = reallocation(scenario, plan, activity);
  return sum_of({{SecondsOf::transfer, realloc::reallocation_seconds(moving.moves, moving.links).seconds}});
}

}  // namespace

Reallocation reallocation(const Scenario& scenario, const plan::Plan& plan, const plan::Activity& activity) {
  const llm::Transformer& model = plan::model_of(scenario.job, workflow::TaskId(activity.train));
  const plan::TaskPlan& from = plan.tasks[activity.train];
  const plan::TaskPlan& to = plan.tasks[activity.task];
  realloc::PlanOptions options;
  options.trained_only = model.adapter_rank > 0;
  const int shard_group = scenario.software.conventions.shard_group;
  return {realloc::plan_reallocation(scenario.job.cluster, {model, from.layout, from.mesh, shard_group},
                                     {model, to.layout, to.mesh, shard_group}, options),
          cluster::links_of(scenario.job.cluster, cluster::hull_of(from.mesh, to.mesh),
                            scenario.software.efficiency.links)};
}

ActivitySeconds sum_of(std::vector<SecondsPart> parts) {
  ActivitySeconds seconds;
  for (const SecondsPart& part : parts) seconds.seconds += part.seconds;
  seconds.parts = std::move(parts);
  return seconds;
}

std::vector<base::Ticks> durations_of(const std::vector<ActivitySeconds>& activities) {
  std::vector<base::Ticks> durations;
  for (const ActivitySeconds& activity : activities) durations.push_back(base::ticks_of_seconds(activity.seconds));
  return durations;
}

std::int64_t engine_weight_bytes(const cost::ModelFacts& facts, llm::Layout layout) {
  if (facts.model.experts && layout.expert == 1) layout.expert_tensor = layout.tensor;
  return cost::engine_bytes(facts, layout);
}

double key_value_capacity(const cost::ModelFacts& facts, const plan::TaskPlan& task, const cluster::Gpu& gpu,
                          plan::EngineKind kind) {
  if (!task.engine.own_weights) return std::numeric_limits<double>::max();
  const auto weights = static_cast<double>(engine_weight_bytes(facts, task.layout));
  const auto memory = static_cast<double>(gpu.memory);
  const double share = task.engine.memory_utilization;
  switch (kind) {
    case plan::EngineKind::vllm:
      break;
    case plan::EngineKind::sglang:
      return share * memory - weights;
    case plan::EngineKind::trtllm:
      return share * (memory - weights - engine_reserve);
  }
  return share * memory - weights - engine_reserve;
}

plan::Engine engine_in_use(const plan::Engine& engine) {
  if (engine.own_weights) return engine;
  constexpr std::int64_t no_limit = std::int64_t{1} << 40;
  plan::Engine all_at_once = engine;
  all_at_once.max_num_batched_tokens = no_limit;
  all_at_once.chunked_prefill = false;
  return all_at_once;
}

cost::GenerationSeconds generation_seconds(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  return generation_of(task_scenario(scenario, task, planned));
}

std::int64_t loaded_bytes(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const TaskKind kind = scenario.job.workflow.tasks[task].kind;
  if (kind != TaskKind::infer && kind != TaskKind::train) return 0;
  return loaded_bytes_of(task_scenario(scenario, task, planned));
}

OverheadSeconds overhead_seconds(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  return overhead_of(task_scenario(scenario, task, planned));
}

double gathering_seconds(const Scenario& scenario, std::size_t index, const plan::TaskPlan& planned) {
  if (planned.layout.pipeline == 1 || planned.offload.weights) return 0;
  const TaskScenario task = task_scenario(scenario, index, planned);
  const cluster::Mesh& mesh = planned.mesh;
  const base::DeviceId first(mesh.first);
  const base::DeviceId last(mesh.first + mesh.count - 1);
  const bool in_one_node = cluster::meeting_level(scenario.job.cluster, first, last) == 0;
  const cluster::Links& links = task.machine.links;
  return cluster::send_seconds(in_one_node ? links.inside : links.between,
                               static_cast<double>(cost::weight_bytes(task.facts, planned.layout)));
}

ActivitySeconds task_seconds(const Scenario& scenario, std::size_t index, const plan::TaskPlan& planned) {
  const Task& task = scenario.job.workflow.tasks[index];
  switch (task.kind) {
    case TaskKind::generate: {
      const cost::GenerationSeconds seconds = generation_seconds(scenario, index, planned);
      std::vector<SecondsPart> parts{{SecondsOf::prefill, seconds.prefill},
                                     {SecondsOf::recompute, seconds.recompute},
                                     {SecondsOf::full_batch, seconds.full},
                                     {SecondsOf::emptying_batch, seconds.tail},
                                     {SecondsOf::slowest_instance, seconds.imbalance}};
      const double transfers = overhead_seconds(scenario, index, planned).host_transfers;
      if (transfers > 0) parts.push_back({SecondsOf::host_transfers, transfers});
      return sum_of(std::move(parts));
    }
    case TaskKind::infer:
      return inference_of(task_scenario(scenario, index, planned), index);
    case TaskKind::train:
      return training_of(task_scenario(scenario, index, planned), index);
    case TaskKind::rule:
      break;
  }
  const auto sequences = static_cast<double>(workflow::sequences_of(task, scenario.job.workload));
  return sum_of({{SecondsOf::rule, sequences * base::seconds_of_ticks(task.time_per_sequence)}});
}

ActivitySeconds activity_seconds(const Scenario& scenario, const plan::Plan& plan, const plan::Activity& activity) {
  const plan::TaskPlan& planned = plan.tasks[activity.task];
  if (activity.kind == plan::Activity::Kind::task) return task_seconds(scenario, activity.task, planned);
  if (plan::is_host_transfer(activity)) return host_transfer_of(scenario, plan, activity);
  if (plan::has_own_weights(scenario.job, plan, activity.task))
    return weight_sync_of(task_scenario(scenario, activity.task, planned), plan.tasks[activity.train]);
  return reallocation_of(scenario, plan, activity);
}

}  // namespace dovetail::predict
