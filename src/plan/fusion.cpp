#include "plan/fusion.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/assert.h"
#include "cluster/mesh.h"
#include "pipeline/problem/fuse_layouts.h"
#include "plan/framework.h"

namespace dovetail::plan {
namespace {

using workflow::TaskKind;

/// Infer tasks on the devices of `generate` that depend only on it and on each other.
std::vector<std::size_t> infer_tasks_of(const Job& job, const std::vector<TaskPlan>& tasks, std::size_t generate) {
  std::vector<std::size_t> found;
  // In topological order, so that a task is checked after its predecessors.
  for (const workflow::TaskId id : job.workflow.order) {
    const std::size_t task = id.index();
    if (job.workflow.tasks[task].kind != TaskKind::infer || tasks[task].mesh != tasks[generate].mesh) continue;
    const std::vector<workflow::TaskId> before = workflow::predecessors(job.workflow, id);
    const bool within = std::all_of(before.begin(), before.end(), [&](workflow::TaskId one) {
      return one.index() == generate || std::find(found.begin(), found.end(), one.index()) != found.end();
    });
    if (within && !before.empty()) found.push_back(task);
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Whether `to` depends on data of `from` in the same iteration, directly or through other tasks.
bool waits_for(const workflow::Workflow& workflow, std::size_t to, std::size_t from) {
  std::vector<bool> reached(workflow.tasks.size(), false);
  reached[from] = true;
  for (const workflow::TaskId id : workflow.order)
    for (const workflow::TaskId before : workflow::predecessors(workflow, id))
      if (reached[before.index()]) reached[id.index()] = true;
  return reached[to];
}

/// Finds a fault of a pair that does not depend on its layouts and devices.
std::optional<std::string> find_pair_fault(const Job& job, TrainPair pair) {
  if (auto rejection = find_training_rejection(job)) return rejection;
  const workflow::Workflow& workflow = job.workflow;
  for (const std::size_t task : pair)
    if (workflow.tasks[task].kind != TaskKind::train)
      return fmt::format("{} does not train; accepted: two train tasks", workflow.tasks[task].name);
  if (workflow.role_of[pair[0]] == workflow.role_of[pair[1]])
    return "both tasks train the same role; accepted: two roles";
  for (const auto& [first, second] : {std::pair(pair[0], pair[1]), std::pair(pair[1], pair[0])})
    if (waits_for(workflow, second, first))
      return fmt::format("{} waits for data of {}; accepted: tasks that do not wait for each other",
                         workflow.tasks[second].name, workflow.tasks[first].name);
  return std::nullopt;
}

/// The layout as a pipeline with dummy costs, to check only its degrees.
pipeline::ModelLayout degrees_of(const workflow::Task& task, const llm::Layout& layout) {
  const auto stages = static_cast<std::size_t>(layout.pipeline);
  const std::vector<base::Ticks> times(stages, base::Ticks(1));
  return {task.name, layout.data, layout.pipeline, layout.tensor * layout.context,
          1,         times,       times,           std::vector<base::Memory>(stages)};
}

}  // namespace

std::optional<GenerationStage> generation_stage(const Job& job, const std::vector<TaskPlan>& tasks) {
  DOVETAIL_ASSERT(tasks.size() == job.workflow.tasks.size());
  if (find_generation_rejection(job)) return std::nullopt;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    if (job.workflow.tasks[task].kind != TaskKind::generate) continue;
    std::vector<std::size_t> infer = infer_tasks_of(job, tasks, task);
    if (!infer.empty()) return GenerationStage{task, std::move(infer)};
  }
  return std::nullopt;
}

std::optional<std::size_t> partner_of(const TrainPair& pair, std::size_t task) {
  if (std::find(pair.begin(), pair.end(), task) == pair.end()) return std::nullopt;
  return task == pair[0] ? pair[1] : pair[0];
}

std::optional<TrainPair> train_pair(const Job& job) {
  const std::size_t count = job.workflow.tasks.size();
  for (std::size_t first = 0; first < count; ++first)
    for (std::size_t second = first + 1; second < count; ++second)
      if (!find_pair_fault(job, {first, second})) return TrainPair{first, second};
  return std::nullopt;
}

Fusion possible_fusion(const Fusion& fusion, const Job& job, const std::vector<TaskPlan>& tasks) {
  Fusion part = fusion;
  if (part.threshold && find_threshold_fault(*part.threshold, job, tasks)) part.threshold.reset();
  if (const auto& pair = fusion.training)
    if (find_training_fault(job, *pair, tasks[(*pair)[0]], tasks[(*pair)[1]])) part.training.reset();
  return part;
}

bool agrees(const FusionPin& pin, const Fusion& fusion) {
  if (pin.inter_stage && *pin.inter_stage != fusion.threshold.has_value()) return false;
  if (pin.threshold && fusion.threshold != pin.threshold) return false;
  return !pin.intra_stage || *pin.intra_stage == fusion.training.has_value();
}

std::optional<std::string> find_fault(const FusionPin& pin, const Job& job) {
  // Fusion needs equal meshes, so this finds all fusions that any plan can have.
  const std::vector<TaskPlan> anywhere(job.workflow.tasks.size());
  if (pin.inter_stage.value_or(false))
    if (auto rejection = find_generation_rejection(job)) return rejection;
  if (pin.intra_stage.value_or(false))
    if (auto rejection = find_training_rejection(job)) return rejection;
  if (pin.inter_stage.value_or(false) && !generation_stage(job, anywhere))
    return fmt::format("{} has no infer task that depends only on generation; accepted: `inter_stage: false`",
                       job.workflow.name);
  if (pin.threshold && !(*pin.threshold > 0 && *pin.threshold < 1))
    return fmt::format("the threshold is {}; accepted: above 0 and below 1", *pin.threshold);
  if (pin.intra_stage.value_or(false) && !train_pair(job))
    return fmt::format("{} has no two train tasks that can be fused; accepted: `intra_stage: false`",
                       job.workflow.name);
  return std::nullopt;
}

std::optional<std::string> find_threshold_fault(double threshold, const Job& job, const std::vector<TaskPlan>& tasks) {
  if (!(threshold > 0 && threshold < 1))
    return fmt::format("the threshold is {}; accepted: above 0 and below 1", threshold);
  if (auto rejection = find_generation_rejection(job)) return rejection;
  if (generation_stage(job, tasks)) return std::nullopt;
  const auto& all = job.workflow.tasks;
  const auto generate =
      std::find_if(all.begin(), all.end(), [](const workflow::Task& task) { return task.kind == TaskKind::generate; });
  if (generate == all.end())
    return fmt::format("{} has no generate task; accepted: a workflow with generation", job.workflow.name);
  return fmt::format(
      "no infer task that depends only on {0} runs on the devices of {0}; accepted: such a task on devices {1}",
      generate->name, cluster::name_of(job.cluster, tasks[static_cast<std::size_t>(generate - all.begin())].mesh));
}

std::optional<std::string> find_training_fault(const Job& job, TrainPair pair, const TaskPlan& first,
                                               const TaskPlan& second) {
  if (auto fault = find_pair_fault(job, pair)) return fault;
  const workflow::Task* tasks[2] = {&job.workflow.tasks[pair[0]], &job.workflow.tasks[pair[1]]};
  if (first.mesh != second.mesh)
    return fmt::format("{} is on devices {}, but {} is on devices {}; accepted: the same devices", tasks[0]->name,
                       cluster::name_of(job.cluster, first.mesh), tasks[1]->name,
                       cluster::name_of(job.cluster, second.mesh));
  const llm::Layout* layouts[2] = {&first.layout, &second.layout};
  for (int index = 0; index < 2; ++index)
    if (layouts[index]->virtual_stages > 1)
      return fmt::format("{} has {} virtual stages; accepted: 1", tasks[index]->name, layouts[index]->virtual_stages);
  const auto fused = pipeline::fuse_layouts(degrees_of(*tasks[0], first.layout), degrees_of(*tasks[1], second.layout),
                                            pipeline::TimeUnit::ns);
  if (!fused.ok()) return fused.error().message;
  return std::nullopt;
}

std::string as_reason(std::string fault) {
  constexpr std::string_view accepted = "; accepted: ";
  if (const std::size_t at = fault.find(accepted); at != std::string::npos)
    fault.replace(at, accepted.size(), "; fusion needs ");
  return fault;
}

}  // namespace dovetail::plan
