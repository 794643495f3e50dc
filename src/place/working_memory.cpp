#include "place/working_memory.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cost/batches.h"
#include "cost/generation.h"
#include "cost/training_memory.h"

namespace dovetail::place {
namespace {

cost::TrainingShape shape_of(const Ground& ground, const plan::TaskPlan& planned, bool trains, double sequences) {
  const workflow::Workload& workload = ground.job.workload;
  const double steps = trains ? static_cast<double>(workload.mini_batches) : 1;
  const double share = sequences / steps / planned.layout.data;
  const double micro_batches = cost::count_micro_batches(ground.lengths, share, planned.micro_batching);
  cost::TrainingShape shape;
  // The longest decides: a sequence that is longer than the limit is a micro-batch of its own.
  shape.sequence_length = ground.lengths.longest();
  shape.sequences = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(share / micro_batches)));
  shape.micro_batches = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(micro_batches)));
  if (planned.micro_batching.tokens > 0)
    shape.packed_tokens = std::max(static_cast<std::int64_t>(planned.micro_batching.tokens), ground.lengths.longest());
  else if (workload.packing)
    shape.packed_tokens = std::max(ground.lengths.longest(),
                                   static_cast<std::int64_t>(std::ceil(ground.lengths.mean() * static_cast<double>(shape.sequences))));
  return shape;
}

double sequences_of(const Ground& ground, std::size_t task) {
  return static_cast<double>(workflow::sequences_of(ground.job.workflow.tasks[task], ground.job.workload));
}

std::vector<MemoryPart> training(const Ground& ground, std::size_t task, const plan::TaskPlan& planned) {
  const std::size_t role = ground.job.workflow.role_of[task]->index();
  const cost::TrainingShape shape = shape_of(ground, planned, true, sequences_of(ground, task));
  const cost::TrainingMemory memory = cost::training_memory(ground.job.models[role], planned.layout, shape, ground.software.conventions);
  const cost::StageMemory& peak = memory.peak();
  const std::string& name = ground.job.workflow.roles[role].name;
  const bool on_host = planned.offload.optimizer_on_host;
  std::vector<MemoryPart> parts{{name + "'s weights", peak.parts.weights},
                                {name + "'s gradients", peak.parts.gradients},
                                {name + "'s optimizer", on_host ? 0 : peak.parts.optimizer},
                                {"activations", peak.parts.activations},
                                {"logits", peak.parts.logits},
                                {"gathered weights", peak.parts.gathered},
                                {"workspace", peak.parts.workspace}};
  if (peak.reserved > peak.allocated()) parts.push_back({"reserved beyond allocated", peak.reserved - peak.allocated()});
  std::erase_if(parts, [](const MemoryPart& part) { return part.bytes == 0; });
  return parts;
}

std::vector<MemoryPart> engine(const Ground& ground, std::size_t task, const plan::TaskPlan& planned) {
  const std::size_t role = ground.job.workflow.role_of[task]->index();
  const cluster::Gpu& gpu = cluster::gpu_of(ground.job.cluster, base::DeviceId(planned.mesh.first));
  const std::int64_t weights = engine_weight_bytes(ground.models[role], planned.layout);
  // At least the longest sequence has to have its keys and values; without a cache of the engine's own, all that decode together have.
  const auto of_longest = static_cast<std::int64_t>(cost::key_value_bytes(ground.models[role], planned.layout)) * ground.lengths.longest();
  if (!planned.engine.own_weights) {
    const auto share = static_cast<std::int64_t>(std::ceil(sequences_of(ground, task) / planned.layout.data));
    return {{ground.job.workflow.roles[role].name + "'s weights", weights},
            {"keys and values", of_longest * std::min(share, planned.engine.max_num_seqs)}};
  }
  const auto share = static_cast<std::int64_t>(planned.engine.memory_utilization * static_cast<double>(gpu.memory));
  const auto room = static_cast<std::int64_t>(key_value_room(ground.models[role], planned, gpu));
  return {{ground.job.workflow.roles[role].name + "'s weights in the engine", weights},
          {"keys and values", std::max(room, of_longest)},
          {"the engine's activations, graphs and buffers", std::max<std::int64_t>(0, share - weights - room)}};
}

/// Weights are resident; a micro-batch passes layer by layer, and its logits are made at the end.
std::vector<MemoryPart> scoring(const Ground& ground, std::size_t task, const plan::TaskPlan& planned) {
  const std::size_t role = ground.job.workflow.role_of[task]->index();
  const llm::Transformer& model = ground.job.models[role];
  const cost::TrainingShape shape = shape_of(ground, planned, false, sequences_of(ground, task));
  const std::int64_t tokens = cost::tokens_of_rank(planned.layout, shape);
  constexpr std::int64_t logit_bytes = 4;
  const std::int64_t logits = model.head == llm::Head::scalar ? 0 : tokens * model.vocabulary / planned.layout.tensor * logit_bytes;
  const std::int64_t layer =
      cost::layer_memory(model, planned.layout, shape, ground.software.conventions, llm::has_experts(model, model.layers - 1)).kept;
  return {{"logits", logits}, {"activations", layer}};
}

}  // namespace

std::vector<MemoryPart> working_memory(const Ground& ground, std::size_t task, const plan::TaskPlan& planned) {
  switch (ground.job.workflow.tasks[task].kind) {
    case workflow::TaskKind::train:
      return training(ground, task, planned);
    case workflow::TaskKind::generate:
      return engine(ground, task, planned);
    default:
      return scoring(ground, task, planned);
  }
}

std::int64_t bytes_of(const std::vector<MemoryPart>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                         [](std::int64_t sum, const MemoryPart& part) { return sum + part.bytes; });
}

StoredBytes stored_bytes(const Ground& ground, std::size_t role, const llm::Layout& layout, Stored stored) {
  if (stored == Stored::engine) return {engine_weight_bytes(ground.models[role], layout), 0, 0};
  if (stored == Stored::frozen) return {cost::weight_bytes(ground.models[role], layout), 0, 0};
  const cost::MemoryParts parts = cost::largest_static_memory(ground.job.models[role], layout, ground.software.conventions);
  return {parts.weights, parts.gradients, parts.optimizer};
}

}  // namespace dovetail::place
