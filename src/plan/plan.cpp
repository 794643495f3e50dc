#include "plan/plan.h"

#include <fmt/format.h>

#include "base/assert.h"

namespace dovetail::plan {
namespace {

std::optional<std::string> find_fault(const MicroBatching& micro_batching) {
  const int given = (micro_batching.sequences > 0 ? 1 : 0) + (micro_batching.tokens > 0 ? 1 : 0) + (micro_batching.count > 0 ? 1 : 0);
  if (given == 1 && micro_batching.sequences >= 0 && micro_batching.tokens >= 0 && micro_batching.count >= 0) return std::nullopt;
  return "its micro-batches are given in none or several ways; accepted: one of sequences, tokens and count, more than 0";
}

std::optional<std::string> find_fault(const Engine& engine) {
  if (!(engine.memory_utilization > 0 && engine.memory_utilization <= 1))
    return fmt::format("its engine's memory_utilization is {}; accepted: above 0, at most 1", engine.memory_utilization);
  if (engine.max_num_seqs < 1) return fmt::format("its engine's max_num_seqs is {}; accepted: at least 1", engine.max_num_seqs);
  if (engine.max_num_batched_tokens < 1)
    return fmt::format("its engine's max_num_batched_tokens is {}; accepted: at least 1", engine.max_num_batched_tokens);
  return std::nullopt;
}

std::optional<std::string> find_fault(const TaskPlan& task, workflow::TaskKind kind, const llm::Transformer& model,
                                      const cluster::Cluster& cluster) {
  if (!cluster::is_sound(cluster, task.mesh))
    return fmt::format("its devices {} to {} are not a mesh of the cluster's {}; accepted: devices of one node, or whole nodes",
                       task.mesh.first, task.mesh.first + task.mesh.count - 1, cluster::device_count(cluster));
  if (const auto fault = llm::find_fault(task.layout, model)) return *fault;
  // Degrees of a file may be as large as no cluster is: more than devices(), an int, can say.
  const llm::Layout& layout = task.layout;
  const std::int64_t devices = std::int64_t{layout.data} * layout.context * layout.tensor * layout.pipeline;
  if (devices != task.mesh.count)
    return fmt::format("its layout {} is for {} devices; accepted: the {} of its mesh", llm::to_text(layout), devices, task.mesh.count);
  if (kind == workflow::TaskKind::generate) return find_fault(task.engine);
  return find_fault(task.micro_batching);
}

}  // namespace

std::optional<PlanFault> find_fault(const Plan& plan, const Job& job) {
  DOVETAIL_ASSERT(plan.tasks.size() == job.workflow.tasks.size());
  for (std::size_t index = 0; index < plan.tasks.size(); ++index) {
    const workflow::Task& task = job.workflow.tasks[index];
    if (task.kind == workflow::TaskKind::rule) continue;
    const llm::Transformer& model = model_of(job, workflow::TaskId(index));
    if (const auto fault = find_fault(plan.tasks[index], task.kind, model, job.cluster)) return PlanFault{index, *fault};
  }
  return std::nullopt;
}

}  // namespace dovetail::plan
