#include "plan/plan.h"

#include <fmt/core.h>

#include "base/assert.h"
#include "plan/job.h"

namespace dovetail::plan {
namespace {

std::optional<std::string> find_task_fault(const TaskPlan& task, workflow::TaskKind kind, const llm::Transformer& model,
                                           const cluster::Cluster& cluster) {
  if (auto fault = find_fault(task.mesh, cluster)) return fault;
  if (auto fault = llm::find_fault(task.layout, model)) return fault;
  // Degrees in a file may be too large for any cluster, so their product may exceed the int of devices().
  const llm::Layout& layout = task.layout;
  const std::int64_t devices = std::int64_t{layout.data} * layout.context * layout.tensor * layout.pipeline;
  if (devices != task.mesh.count)
    return fmt::format(
        "its layout {} uses {} devices, but its mesh has {}; accepted: a layout that uses the whole mesh",
        llm::to_text(layout), devices, task.mesh.count);
  if (kind == workflow::TaskKind::generate) return find_fault(task.engine);
  return find_fault(task.micro_batching);
}

std::optional<PlanFault> find_fusion_fault(const Plan& plan, const Job& job) {
  if (plan.fusion.threshold) {
    if (const auto fault = find_threshold_fault(*plan.fusion.threshold, job, plan.tasks)) {
      const auto stage = generation_stage(job, plan.tasks);
      return PlanFault{stage ? stage->generate : 0, *fault};
    }
  }
  if (const auto& pair = plan.fusion.training) {
    const auto fault = find_training_fault(job, *pair, plan.tasks[(*pair)[0]], plan.tasks[(*pair)[1]]);
    if (fault)
      return PlanFault{(*pair)[0],
                       fmt::format("it cannot be fused with {}: {}", job.workflow.tasks[(*pair)[1]].name, *fault)};
  }
  return std::nullopt;
}

}  // namespace

bool is_for_another_job(const Plan& plan, const Job& job) {
  return !plan.job_hash.empty() && plan.job_hash != job_hash(job);
}

std::optional<GenerationStage> fused_stage(const Job& job, const Plan& plan) {
  return plan.fusion.threshold ? generation_stage(job, plan.tasks) : std::nullopt;
}

std::optional<PlanFault> find_fault(const Plan& plan, const Job& job) {
  DOVETAIL_ASSERT(plan.tasks.size() == job.workflow.tasks.size());
  for (std::size_t index = 0; index < plan.tasks.size(); ++index) {
    const workflow::Task& task = job.workflow.tasks[index];
    if (task.kind == workflow::TaskKind::rule) continue;
    const llm::Transformer& model = model_of(job, workflow::TaskId(index));
    if (const auto fault = find_task_fault(plan.tasks[index], task.kind, model, job.cluster))
      return PlanFault{index, *fault};
  }
  return find_fusion_fault(plan, job);
}

}  // namespace dovetail::plan
