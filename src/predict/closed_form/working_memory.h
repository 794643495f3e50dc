// What a task itself needs of each device's memory while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "predict/closed_form/activity_seconds.h"

namespace dovetail::predict {

/// What a part of a device's memory is for.
enum class MemoryKind {
  weights,            ///< of a role, as trained, or as inferred with where no task trains it
  inference_weights,  ///< of a role that is trained elsewhere or in another layout: its copy for inference
  gradients,          ///< of a role
  optimizer,          ///< of a role
  activations,        ///< of micro-batches in flight
  fused_activations,  ///< likewise, of two trainings in one schedule
  logits,
  gathered_weights,
  workspace,
  collective_buffers,
  reserved,        ///< by the allocator beyond what is allocated
  engine_weights,  ///< of a role, in its engine that runs
  keys_and_values,
  engine_buffers,    ///< the engine's activations, graphs and buffers
  denied_to_engine,  ///< what memory_utilization keeps from an engine that needs more to start
  idle_engine,       ///< weights of a role in an engine that does not run
  new_weights,       ///< of a role, just trained
  weights_on_their_way,
  reserved_for_others  ///< by the allocator beyond what models have that the task does not use
};

/// A part of what a device holds.
struct MemoryPart {
  MemoryKind kind = MemoryKind::workspace;
  std::optional<std::size_t> role = std::nullopt;  ///< whose; nothing where the kind has none
  std::int64_t bytes = 0;

  bool is_like(const MemoryPart& other) const { return kind == other.kind && role == other.role; }
};

/// "actor's optimizer", "keys and values", ...
std::string name_of(const MemoryPart& part, const workflow::Workflow& workflow);

/// Of the device with the most, whatever else is there: training by cost::training_memory, its weights and optimizer
/// included, but for what Adam on the host keeps away; inference the logits of a micro-batch, what one layer makes on
/// the way, and what ZeRO 3 gathers, without the weights; of both the buffers of NCCL; an engine its whole share of the
/// memory, as it takes it when it starts, with its weights; one that generates with the trained weights these and the
/// cache of its batch. Micro-batches are the fullest of many: where lengths vary, three standard deviations above the
/// mean, never more than the task has; a pair of sequences that train together is never cut. REQUIRES: the task is no
/// rule, and `planned` has no fault.
std::vector<MemoryPart> working_memory(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// [pipeline stage] bytes of all parts of a train task but the activations of micro-batches in flight, with what is
/// reserved beyond them. REQUIRES: as working_memory.
std::vector<std::int64_t> bytes_beside_activations(const Scenario& scenario, std::size_t task,
                                                   const plan::TaskPlan& planned);

/// Of two train tasks in one schedule, whose micro-batches in flight hold `activations` bytes of the fullest device
/// (absent: as much as both do by themselves): what stays of both, and what one micro-batch at a time needs of the one
/// that needs more. REQUIRES: as working_memory.
std::vector<MemoryPart> fused_working_memory(const Scenario& scenario, const plan::Plan& plan, plan::TrainPair pair,
                                             std::optional<std::int64_t> activations);

/// Tokens of the fullest micro-batch of a train task over those of the average one, on one rank.
double fullest_over_average(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);
/// The larger of two train tasks', at least 1: schedules of both are of average micro-batches.
double fullest_over_average(const Scenario& scenario, const plan::TrainPair& pair, const plan::Plan& plan);

/// What DeepSpeed keeps on the device of a model whose Adam is on the host: a gradient of the largest parameter, which
/// is the embedding.
std::int64_t gradient_buffer_bytes(const llm::Transformer& model, const llm::Layout& layout,
                                   const cost::Conventions& conventions);

/// What the allocator of a training process reserves beyond `resident` bytes of other models in it, while it trains:
/// their part of the framework's reserved factor, as working_memory has it of the trained model.
std::int64_t reserved_beyond(const Scenario& scenario, std::int64_t resident);

/// The sum of the parts; of those of one kind.
std::int64_t bytes_of(const std::vector<MemoryPart>& parts);
std::int64_t bytes_of(const std::vector<MemoryPart>& parts, MemoryKind kind);

/// How weights of a role are stored.
enum class Stored {
  frozen,   ///< as they are scored with
  engine,   ///< in a form of an engine's own
  trained,  ///< with their gradients and optimizer
};

/// What the device with the most holds of a role between tasks. Gradients of 0 bytes are those that the framework gives
/// back.
struct StoredBytes {
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;

  std::int64_t sum() const { return weights + gradients + optimizer; }
};
StoredBytes stored_bytes(const Scenario& scenario, std::size_t role, const llm::Layout& layout, Stored stored);

}  // namespace dovetail::predict
