#include "place/simulation/memory.h"

#include <string_view>
#include <utility>

#include "place/predict/memory.h"
#include "place/predict/working_memory.h"

namespace dovetail::place {
namespace {

using workflow::TaskKind;

/// The part of an engine's memory that its trace tells moment by moment.
constexpr std::string_view keys_and_values = "keys and values";

/// Bytes that the step's task needs on a device, beside what its trace tells: [part of the mesh, of as many devices each].
std::vector<std::int64_t> own_bytes(const Ground& ground, const plan::Plan& plan, const Estimate& closed, std::size_t task) {
  if (const auto stage = plan::fused_stage(ground.job, plan); stage && stage->generate == task) return {0};
  const TaskKind kind = ground.job.workflow.tasks[task].kind;
  const auto& pair = plan.fusion.training;
  const bool fused = pair && task == (*pair)[0];
  if (kind == TaskKind::train && !fused) return bytes_beside_activations(ground, task, plan.tasks[task]);
  const std::string_view told = fused ? "activations of both" : kind == TaskKind::generate ? keys_and_values : "";
  std::int64_t own = 0;
  for (const MemoryPart& part :
       fused ? fused_working_memory(ground, plan, *pair, closed.intra_stage ? closed.intra_stage->activations : std::nullopt)
             : working_memory(ground, task, plan.tasks[task]))
    if (part.name != told) own += part.bytes;
  return {own};
}

}  // namespace

StageMemory stage_memory(const Ground& ground, const plan::Plan& plan, const plan::GenerationStage& stage) {
  const auto device = static_cast<std::size_t>(plan.tasks[stage.generate].mesh.first);  // all of its devices alike
  const std::int64_t resident = resident_memory(ground, plan, stage.generate)[device];
  StageMemory memory;
  for (const MemoryPart& part : working_memory(ground, stage.generate, plan.tasks[stage.generate]))
    if (part.name != keys_and_values) memory.engine += part.bytes;
  for (const std::size_t task : stage.infer)
    memory.scoring.push_back(resident_memory(ground, plan, task)[device] + bytes_of(working_memory(ground, task, plan.tasks[task])) -
                             resident);
  return memory;
}

std::function<std::int64_t(int device, std::optional<std::size_t> step)> resident_of(const Ground& ground, const plan::Plan& plan,
                                                                                     const Estimate& closed) {
  std::vector<std::vector<std::int64_t>> bytes;  // [step, and behind them between steps][device]
  for (const plan::Step& step : closed.graph.steps) {
    const bool works = step.kind == plan::Step::Kind::task && !step.within && plan.tasks[step.task].mesh.count > 0;
    bytes.push_back(resident_memory(ground, plan, works ? std::optional(step.task) : std::nullopt));
    if (!works) continue;
    const std::vector<std::int64_t> own = own_bytes(ground, plan, closed, step.task);
    const cluster::Mesh& mesh = plan.tasks[step.task].mesh;
    const int each = mesh.count / static_cast<int>(own.size());
    for (int rank = 0; rank < mesh.count; ++rank)
      bytes.back()[static_cast<std::size_t>(mesh.first + rank)] += own[static_cast<std::size_t>(rank / each)];
  }
  bytes.push_back(resident_memory(ground, plan, std::nullopt));
  return [bytes = std::move(bytes)](int device, std::optional<std::size_t> step) {
    return bytes[step.value_or(bytes.size() - 1)][static_cast<std::size_t>(device)];
  };
}

}  // namespace dovetail::place
