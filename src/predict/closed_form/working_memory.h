// Memory that a task needs on each device while it runs, without the data of other tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "predict/closed_form/activity_seconds.h"

namespace dovetail::predict {

/// Purpose of a part of a device's memory.
enum class MemoryKind {
  weights,            ///< weights as the role's train task stores them, or for inference if no task trains the role
  inference_weights,  ///< inference copy of the weights of a role that is trained elsewhere or in another layout
  gradients,          ///< of a role
  optimizer,          ///< of a role
  activations,        ///< of micro-batches in flight
  fused_activations,  ///< of micro-batches in flight, of two trainings in one schedule
  logits,
  gathered_weights,
  workspace,
  collective_buffers,
  reserved,        ///< reserved by the allocator, but not allocated
  engine_weights,  ///< weights of a role in its running engine
  keys_and_values,
  engine_buffers,    ///< the engine's activations, graphs and buffers
  denied_to_engine,  ///< memory that an engine needs to start, but that memory_utilization withholds
  idle_engine,       ///< weights of a role in an engine that does not run
  new_weights,       ///< newly trained weights of a role
  weights_in_transit,
  reserved_for_others  ///< like `reserved`, for models that the task does not use
};

/// A part of a device's memory.
struct MemoryPart {
  MemoryKind kind = MemoryKind::workspace;
  std::optional<std::size_t> role = std::nullopt;  ///< nullopt if the kind has no role
  std::int64_t bytes = 0;

  bool is_like(const MemoryPart& other) const { return kind == other.kind && role == other.role; }
};

/// Returns the name of a part, after the name of its role if it has one: "actor's optimizer", "keys and values", ...
std::string name_of(const MemoryPart& part, const workflow::Workflow& workflow);

/// Returns the memory of the task on the device that needs the most, without the data of other tasks:
/// - training: cost::training_memory with weights and optimizer, minus the share of Adam on the host;
/// - inference, without the weights: logits of a micro-batch, temporary data of one layer, and weights gathered by ZeRO
///   3;
/// - training and inference on several devices: the buffers of NCCL;
/// - an engine with separate weights: the weights, buffers and entire KV cache that it allocates at the start;
/// - generation with the trained weights: the weights and the KV cache of its batch.
/// Micro-batches have their maximum size: their limit in tokens, otherwise the mean total length of their sequences
/// plus three standard deviations, but at most the total if all sequences had the maximum length. A pair of sequences
/// that train together is never split. REQUIRES: the task is not a rule, and `planned` has no fault.
std::vector<MemoryPart> working_memory(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// Returns, for each pipeline stage of a train task, the bytes of all parts except the activations of micro-batches in
/// flight, including reserved memory. REQUIRES: the conditions of working_memory hold.
std::vector<std::int64_t> bytes_besides_activations(const Scenario& scenario, std::size_t task,
                                                    const plan::TaskPlan& planned);

/// Returns the memory of two train tasks in one schedule: the resident parts of both, and for each kind of temporary
/// data the larger amount of the two tasks. Micro-batches in flight have `activations` bytes at the peak (nullopt: as
/// many as both tasks need alone, added up). REQUIRES: the conditions of working_memory hold for both tasks.
std::vector<MemoryPart> fused_working_memory(const Scenario& scenario, const plan::Plan& plan, plan::TrainPair pair,
                                             std::optional<std::int64_t> activations);

/// Returns the tokens of the largest micro-batch of a train task, divided by the tokens of the average one, on one
/// rank.
double fullest_over_average(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);
/// Returns the larger fullest_over_average of the two train tasks, at least 1.
double fullest_over_average(const Scenario& scenario, const plan::TrainPair& pair, const plan::Plan& plan);

/// Returns the bytes that DeepSpeed keeps on the device if Adam is on the host: a gradient of the largest parameter,
/// the embedding. 0 under ZeRO 3.
std::int64_t gradient_buffer_bytes(const llm::Transformer& model, const llm::Layout& layout,
                                   const cost::Conventions& conventions);

/// Returns the bytes that the allocator of a training process reserves for `resident` bytes of other models in the
/// process, in addition to these bytes. 0 if Conventions::reserved_factor is unknown.
std::int64_t reserved_beyond(const Scenario& scenario, std::int64_t resident);

/// Returns the sum of all parts, or of the parts of one kind.
std::int64_t bytes_of(const std::vector<MemoryPart>& parts);
std::int64_t bytes_of(const std::vector<MemoryPart>& parts, MemoryKind kind);

/// Form in which the weights of a role are stored.
enum class Stored {
  frozen,   ///< weights only, for inference
  engine,   ///< weights only, at the engine's precision
  trained,  ///< weights with gradients and optimizer
};

/// Bytes stored for a role between tasks, on the device with the most. Gradients are 0 if the framework frees them.
struct StoredBytes {
  std::int64_t weights = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;

  std::int64_t sum() const { return weights + gradients + optimizer; }
};
StoredBytes stored_bytes(const Scenario& scenario, std::size_t role, const llm::Layout& layout, Stored stored);

}  // namespace dovetail::predict
