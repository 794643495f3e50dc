#include "predict/simulated/memory.h"

#include <utility>

#include "predict/closed_form/memory.h"
#include "predict/closed_form/working_memory.h"

namespace dovetail::predict {
namespace {

using workflow::TaskKind;

/// Returns the bytes of all parts except those of the kind that a trace records.
std::int64_t bytes_except(const std::vector<MemoryPart>& parts, MemoryKind recorded) {
  return bytes_of(parts) - bytes_of(parts, recorded);
}

/// Returns the bytes that the task needs on a device, without those that its trace records: [part of the mesh], with
/// parts of equal size.
std::vector<std::int64_t> own_bytes(const Scenario& scenario, const plan::Plan& plan, const Estimate& closed,
                                    std::size_t task) {
  if (const auto stage = plan::fused_stage(scenario.job, plan); stage && stage->generate == task) return {0};
  const TaskKind kind = scenario.job.workflow.tasks[task].kind;
  const auto& pair = plan.fusion.training;
  const bool fused = pair && task == (*pair)[0];
  if (kind == TaskKind::train && !fused) return bytes_besides_activations(scenario, task, plan.tasks[task]);
  if (fused) {
    const auto activations = closed.intra_stage ? closed.intra_stage->activations : std::nullopt;
    return {bytes_except(fused_working_memory(scenario, plan, *pair, activations), MemoryKind::fused_activations)};
  }
  return {bytes_except(working_memory(scenario, task, plan.tasks[task]), MemoryKind::keys_and_values)};
}

}  // namespace

StageMemory stage_memory(const Scenario& scenario, const plan::Plan& plan, const plan::GenerationStage& stage) {
  // All devices of the stage hold the same.
  const auto device = static_cast<std::size_t>(plan.tasks[stage.generate].mesh.first);
  const std::int64_t resident = resident_memory(scenario, plan, stage.generate)[device];
  StageMemory memory;
  memory.engine =
      bytes_except(working_memory(scenario, stage.generate, plan.tasks[stage.generate]), MemoryKind::keys_and_values);
  for (const std::size_t task : stage.infer)
    memory.inference.push_back(resident_memory(scenario, plan, task)[device] +
                               bytes_of(working_memory(scenario, task, plan.tasks[task])) - resident);
  return memory;
}

std::function<std::int64_t(int device, std::optional<std::size_t> activity)> resident_of(const Scenario& scenario,
                                                                                         const plan::Plan& plan,
                                                                                         const Estimate& closed) {
  std::vector<std::vector<std::int64_t>> bytes;  // [activity; last: between activities][device]
  for (const plan::Activity& activity : closed.graph.activities) {
    const bool works =
        activity.kind == plan::Activity::Kind::task && !activity.within && plan.tasks[activity.task].mesh.count > 0;
    bytes.push_back(resident_memory(scenario, plan, works ? std::optional(activity.task) : std::nullopt));
    if (!works) continue;
    const std::vector<std::int64_t> own = own_bytes(scenario, plan, closed, activity.task);
    const cluster::Mesh& mesh = plan.tasks[activity.task].mesh;
    const int each = mesh.count / static_cast<int>(own.size());
    for (int rank = 0; rank < mesh.count; ++rank)
      bytes.back()[static_cast<std::size_t>(mesh.first + rank)] += own[static_cast<std::size_t>(rank / each)];
  }
  bytes.push_back(resident_memory(scenario, plan, std::nullopt));
  return [bytes = std::move(bytes)](int device, std::optional<std::size_t> activity) {
    return bytes[activity.value_or(bytes.size() - 1)][static_cast<std::size_t>(device)];
  };
}

}  // namespace dovetail::predict
