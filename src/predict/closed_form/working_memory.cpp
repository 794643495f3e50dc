#include "predict/closed_form/working_memory.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "cost/batches.h"
#include "cost/generation.h"
#include "cost/occupancy.h"
#include "cost/training_memory.h"
#include "predict/closed_form/scenario.h"
#include "predict/closed_form/training_phase.h"

namespace dovetail::predict {
namespace {

/// Returns NCCL's memory on each device outside the framework's allocator. After its first reduction, a process holds
/// about 1.6 GB including its context, which usable memory excludes (issue 864 of NVIDIA/nccl).
std::int64_t collective_buffers(const plan::TaskPlan& planned) {
  return planned.layout.devices() > 1 ? std::int64_t{1} << 30 : 0;
}

std::vector<MemoryPart> without_empty(std::vector<MemoryPart> parts) {
  std::erase_if(parts, [](const MemoryPart& part) { return part.bytes == 0; });
  return parts;
}

/// Returns the name of a kind, which may follow the name of a role.
std::string_view name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::weights:
      return "weights";
    case MemoryKind::inference_weights:
      return "weights for inference";
    case MemoryKind::gradients:
      return "gradients";
    case MemoryKind::optimizer:
      return "optimizer";
    case MemoryKind::activations:
      return "activations";
    case MemoryKind::fused_activations:
      return "fused activations";
    case MemoryKind::logits:
      return "logits";
    case MemoryKind::gathered_weights:
      return "gathered weights";
    case MemoryKind::workspace:
      return "workspace";
    case MemoryKind::collective_buffers:
      return "collective buffers";
    case MemoryKind::reserved:
      return "allocator reserve";
    case MemoryKind::engine_weights:
      return "weights in the engine";
    case MemoryKind::keys_and_values:
      return "keys and values";
    case MemoryKind::engine_buffers:
      return "engine activations, graphs and buffers";
    case MemoryKind::denied_to_engine:
      return "denied to the engine by memory_utilization";
    case MemoryKind::idle_engine:
      return "weights in the idle engine";
    case MemoryKind::new_weights:
      return "new weights";
    case MemoryKind::weights_in_transit:
      return "weights in transit";
    case MemoryKind::reserved_for_others:
      return "allocator reserve of other models";
  }
  DOVETAIL_ASSERT(false);
}

/// Returns three standard deviations of the tokens of `sequences` sequences. Some of many iterations reach this level.
double spread_of(const workflow::LengthDistribution& lengths, double sequences) {
  const double mean = lengths.mean();
  return 3 * std::sqrt(sequences * std::max(0.0, lengths.second_moment() - mean * mean));
}

/// Returns the tokens of the largest of many micro-batches of `sequences` sequences, at most the possible maximum.
std::int64_t max_tokens(const workflow::LengthDistribution& lengths, double sequences) {
  const double most = sequences * lengths.mean() + spread_of(lengths, sequences);
  const double longest = sequences * static_cast<double>(lengths.longest());
  return std::max(lengths.longest(), static_cast<std::int64_t>(std::ceil(std::min(most, longest))));
}

/// Number of micro-batches of a rank's share: required by the limit, and rounded up for virtual stages.
struct Cut {
  double required = 1;
  double whole = 1;
};

/// Returns the number of micro-batches of `sequences` sequences of average length.
Cut cut_of(const Scenario& scenario, const workflow::Task& task, const plan::TaskPlan& planned, double sequences) {
  const int together = workflow::sequences_together(task);
  const double required = cost::count_micro_batches(scenario.rows, sequences, planned.micro_batching, together);
  if (task.kind != workflow::TaskKind::train || planned.layout.virtual_stages == 1) return {required, required};
  return {required, static_cast<double>(cost::count_whole_micro_batches(planned.layout, scenario.rows, sequences,
                                                                        planned.micro_batching, together))};
}

/// Sets the peak size and number of micro-batches for a limit in tokens on a rank's share of `sequences`. If rounding
/// adds micro-batches, each is smaller, except if packs are filled before they are dealt to ranks, or if the limit
/// requires this number in some iterations.
void pack(const Scenario& scenario, const workflow::Task& task, const plan::TaskPlan& planned, double sequences,
          cost::TrainingShape& shape) {
  // Sequences that stay together may exceed the limit. They then form a micro-batch by themselves.
  const std::int64_t longest = workflow::sequences_together(task) * scenario.rows.longest();
  const std::int64_t most = std::max(longest, max_tokens(scenario.rows, sequences));
  const double mean = scenario.rows.mean();
  const Cut longer = cut_of(scenario, task, planned, static_cast<double>(most) / mean);
  double full = 1;
  if (longer.required < longer.whole && !scenario.software.conventions.deals_packs) {
    const double least = sequences - spread_of(scenario.rows, sequences) / mean;
    const Cut shorter = cut_of(scenario, task, planned, std::max(1.0, least));
    full = shorter.whole <= longer.required ? 1 : longer.required / longer.whole;
  }
  shape.packed_tokens = std::clamp(static_cast<std::int64_t>(planned.micro_batching.tokens * full), longest, most);
  shape.micro_batches = static_cast<std::int64_t>(std::ceil(longer.whole));
}

cost::TrainingShape shape_of(const Scenario& scenario, const workflow::Task& task, const plan::TaskPlan& planned) {
  const workflow::Workload& workload = scenario.job.workload;
  const double steps =
      task.kind == workflow::TaskKind::train ? static_cast<double>(workflow::mini_batches_of(task, workload)) : 1;
  const double extra = static_cast<double>(task.extra_tokens) / scenario.rows.mean();
  const double share =
      (static_cast<double>(workflow::sequences_of(task, workload)) + extra) / steps / planned.layout.data;
  cost::TrainingShape shape;
  shape.sequence_length = scenario.rows.longest();
  if (planned.micro_batching.tokens > 0) {
    pack(scenario, task, planned, share, shape);
    return shape;
  }
  const Cut cut = cut_of(scenario, task, planned, share);
  const int together = workflow::sequences_together(task);
  shape.micro_batches = static_cast<std::int64_t>(std::ceil(cut.whole));
  shape.sequences = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(share / cut.whole)));
  shape.sequences = (shape.sequences + together - 1) / together * together;
  if (workload.packing) shape.packed_tokens = max_tokens(scenario.rows, static_cast<double>(shape.sequences));
  return shape;
}

double sequences_of(const Scenario& scenario, std::size_t task) {
  return static_cast<double>(workflow::sequences_of(scenario.job.workflow.tasks[task], scenario.job.workload));
}

/// Returns a stage's training peak, minus the share of Adam that the host keeps off the device.
cost::StageMemory peak_of(cost::StageMemory peak, const llm::Transformer& model, const plan::TaskPlan& planned,
                          const cost::Conventions& conventions) {
  const double share = host_share(planned, conventions);
  if (share == 0) return peak;
  peak.parts.optimizer -= part_of(peak.parts.optimizer, share);
  if (conventions.gradients_follow) {
    peak.parts.gradients -= part_of(peak.parts.gradients, share);
    peak.parts.workspace += gradient_buffer_bytes(model, planned.layout, conventions);
  }
  peak.reserved = std::llround(conventions.reserved_factor * static_cast<double>(peak.allocated()));
  return peak;
}

cost::TrainingMemory training_memory_of(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const cost::TrainingShape shape = shape_of(scenario, scenario.job.workflow.tasks[task], planned);
  return cost::training_memory(facts_of(scenario, task).model, planned.layout, shape, scenario.software.conventions);
}

cost::StageMemory training_peak(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  return peak_of(training_memory_of(scenario, task, planned).peak(), facts_of(scenario, task).model, planned,
                 scenario.software.conventions);
}

std::vector<MemoryPart> training(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const cost::StageMemory peak = training_peak(scenario, task, planned);
  const std::size_t role = scenario.job.workflow.role_of[task]->index();
  std::vector<MemoryPart> parts{{MemoryKind::weights, role, peak.parts.weights},
                                {MemoryKind::gradients, role, peak.parts.gradients},
                                {MemoryKind::optimizer, role, peak.parts.optimizer},
                                {MemoryKind::activations, {}, peak.parts.activations},
                                {MemoryKind::logits, {}, peak.parts.logits},
                                {MemoryKind::gathered_weights, {}, peak.parts.gathered},
                                {MemoryKind::workspace, {}, peak.parts.workspace},
                                {MemoryKind::collective_buffers, {}, collective_buffers(planned)}};
  if (peak.reserved > peak.allocated()) parts.push_back({MemoryKind::reserved, {}, peak.reserved - peak.allocated()});
  return without_empty(std::move(parts));
}

std::vector<MemoryPart> engine(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const std::size_t role = scenario.job.workflow.role_of[task]->index();
  const cluster::Gpu& gpu = cluster::gpu_of(scenario.job.cluster, base::DeviceId(planned.mesh.first));
  const std::int64_t weights = engine_weight_bytes(scenario.models[role], planned.layout);
  // The cache must hold at least the longest sequence. Without an engine's separate cache, it holds all sequences that
  // decode together.
  const std::int64_t blocks = (scenario.lengths.longest() + cost::cache_block - 1) / cost::cache_block;
  const auto of_longest = static_cast<std::int64_t>(cost::key_value_bytes(scenario.models[role], planned.layout)) *
                          blocks * cost::cache_block;
  if (!planned.engine.own_weights) {
    const auto share = static_cast<std::int64_t>(std::ceil(sequences_of(scenario, task) / planned.layout.data));
    return {{MemoryKind::weights, role, weights},
            {MemoryKind::keys_and_values, {}, of_longest * std::min(share, planned.engine.max_num_seqs)}};
  }
  const plan::EngineKind kind = scenario.job.software.engine;
  const auto share = static_cast<std::int64_t>(planned.engine.memory_utilization * static_cast<double>(gpu.memory));
  const auto capacity = static_cast<std::int64_t>(key_value_capacity(scenario.models[role], planned, gpu, kind));
  const std::int64_t buffers = kind == plan::EngineKind::vllm ? std::max<std::int64_t>(0, share - weights - capacity)
                                                              : static_cast<std::int64_t>(engine_reserve);
  std::vector<MemoryPart> parts{{MemoryKind::engine_weights, role, weights},
                                {MemoryKind::keys_and_values, {}, std::max(capacity, of_longest)},
                                {MemoryKind::engine_buffers, {}, buffers}};
  // An engine does not start if its share is too small for the weights and one sequence, even if the device has more
  // memory. It needs a device that is large enough for this share. The size of graphs and buffers is an assumption, so
  // they do not count here.
  if (kind != plan::EngineKind::trtllm && share < weights + of_longest) {
    const auto needed = static_cast<double>(weights + of_longest);
    parts.push_back(
        {MemoryKind::denied_to_engine, {}, std::llround(needed / planned.engine.memory_utilization - needed)});
  }
  return parts;
}

/// Returns the bytes of a micro-batch's logits at the end of a pass.
std::int64_t inference_logits(const llm::Transformer& model, const llm::Layout& layout, std::int64_t tokens,
                              const cost::Conventions& conventions) {
  if (model.head == llm::Head::scalar || conventions.logit_entries > 0) return 0;
  if (conventions.logit_tokens > 0) tokens = std::min(tokens, conventions.logit_tokens);
  const auto rows = static_cast<double>(cost::padded_vocabulary(model, layout, conventions));
  return static_cast<std::int64_t>(
      std::ceil(conventions.inference_logit_bytes * rows / layout.tensor * static_cast<double>(tokens)));
}

/// Returns the memory of inference without the weights. A micro-batch passes through the layers without keeping
/// activations. Its logits are computed at the end.
std::vector<MemoryPart> inference(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const std::size_t role = scenario.job.workflow.role_of[task]->index();
  const llm::Transformer& model = scenario.job.models[role];
  const cost::Conventions& conventions = scenario.software.conventions;
  const cost::TrainingShape shape = shape_of(scenario, scenario.job.workflow.tasks[task], planned);
  const std::int64_t logits =
      inference_logits(model, planned.layout, cost::tokens_of_rank(planned.layout, shape), conventions);
  llm::Layout forward = planned.layout;
  forward.recomputation = llm::Recomputation::none;
  const std::int64_t layer =
      cost::layer_memory(model, forward, shape, conventions, llm::has_experts(model, model.layers - 1)).kept;
  const std::int64_t gathered = cost::gathered_in_forward(model, planned.layout, conventions);
  return without_empty({{MemoryKind::logits, {}, logits},
                        {MemoryKind::activations, {}, layer},
                        {MemoryKind::gathered_weights, {}, gathered},
                        {MemoryKind::collective_buffers, {}, collective_buffers(planned)}});
}

}  // namespace

std::string name_of(const MemoryPart& part, const workflow::Workflow& workflow) {
  const std::string_view name = name_of(part.kind);
  return part.role ? fmt::format("{}'s {}", workflow.roles[*part.role].name, name) : std::string(name);
}

std::vector<MemoryPart> working_memory(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  switch (scenario.job.workflow.tasks[task].kind) {
    case workflow::TaskKind::train:
      return training(scenario, task, planned);
    case workflow::TaskKind::generate:
      return engine(scenario, task, planned);
    default:
      return inference(scenario, task, planned);
  }
}

std::vector<std::int64_t> bytes_besides_activations(const Scenario& scenario, std::size_t task,
                                                    const plan::TaskPlan& planned) {
  std::vector<std::int64_t> bytes;
  for (const cost::StageMemory& stage : training_memory_of(scenario, task, planned).stages) {
    const cost::StageMemory peak =
        peak_of(stage, facts_of(scenario, task).model, planned, scenario.software.conventions);
    bytes.push_back(std::max(peak.allocated(), peak.reserved) - peak.parts.activations + collective_buffers(planned));
  }
  return bytes;
}

std::vector<MemoryPart> fused_working_memory(const Scenario& scenario, const plan::Plan& plan, plan::TrainPair pair,
                                             std::optional<std::int64_t> activations) {
  std::vector<MemoryPart> parts;
  cost::MemoryParts most;
  std::int64_t buffers = 0;
  for (const std::size_t task : pair) {
    const cost::MemoryParts own = training_peak(scenario, task, plan.tasks[task]).parts;
    const std::size_t role = scenario.job.workflow.role_of[task]->index();
    parts.push_back({MemoryKind::weights, role, own.weights});
    parts.push_back({MemoryKind::gradients, role, own.gradients});
    parts.push_back({MemoryKind::optimizer, role, own.optimizer});
    most.activations += own.activations;
    most.logits = std::max(most.logits, own.logits);
    most.gathered = std::max(most.gathered, own.gathered);
    most.workspace = std::max(most.workspace, own.workspace);
    buffers = std::max(buffers, collective_buffers(plan.tasks[task]));
  }
  parts.push_back({MemoryKind::fused_activations, {}, activations.value_or(most.activations)});
  parts.push_back({MemoryKind::logits, {}, most.logits});
  parts.push_back({MemoryKind::gathered_weights, {}, most.gathered});
  parts.push_back({MemoryKind::workspace, {}, most.workspace});
  const std::int64_t beyond = reserved_beyond(scenario, bytes_of(parts));
  parts.push_back({MemoryKind::collective_buffers, {}, buffers});
  parts.push_back({MemoryKind::reserved, {}, beyond});
  return without_empty(std::move(parts));
}

double fullest_over_average(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const cost::TrainingShape fullest = shape_of(scenario, scenario.job.workflow.tasks[task], planned);
  cost::TrainingShape average = fullest;
  average.packed_tokens =
      std::max<std::int64_t>(1, std::llround(training_passes(scenario, {task, planned}).micro_batch.count));
  return static_cast<double>(cost::tokens_of_rank(planned.layout, fullest)) /
         static_cast<double>(cost::tokens_of_rank(planned.layout, average));
}

double fullest_over_average(const Scenario& scenario, const plan::TrainPair& pair, const plan::Plan& plan) {
  double fullest = 1;
  for (const std::size_t task : pair)
    fullest = std::max(fullest, fullest_over_average(scenario, task, plan.tasks[task]));
  return fullest;
}

std::int64_t gradient_buffer_bytes(const llm::Transformer& model, const llm::Layout& layout,
                                   const cost::Conventions& conventions) {
  if (layout.zero >= 3) return 0;
  return conventions.gradient_bytes * (cost::padded_vocabulary(model, layout, conventions) / layout.tensor) *
         model.hidden;
}

std::int64_t reserved_beyond(const Scenario& scenario, std::int64_t resident) {
  return std::llround(std::max(0.0, scenario.software.conventions.reserved_factor - 1) * static_cast<double>(resident));
}

std::int64_t bytes_of(const std::vector<MemoryPart>& parts) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                         [](std::int64_t sum, const MemoryPart& part) { return sum + part.bytes; });
}

std::int64_t bytes_of(const std::vector<MemoryPart>& parts, MemoryKind kind) {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0}, [kind](std::int64_t sum, const MemoryPart& part) {
    return part.kind == kind ? sum + part.bytes : sum;
  });
}

StoredBytes stored_bytes(const Scenario& scenario, std::size_t role, const llm::Layout& layout, Stored stored) {
  if (stored == Stored::engine) return {engine_weight_bytes(scenario.models[role], layout), 0, 0};
  if (stored == Stored::frozen) return {cost::weight_bytes(scenario.models[role], layout), 0, 0};
  const cost::MemoryParts parts =
      cost::max_static_memory(scenario.job.models[role], layout, scenario.software.conventions);
  return {parts.weights, parts.gradients, parts.optimizer};
}

}  // namespace dovetail::predict
