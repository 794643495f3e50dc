// Copies of a role's weights in a plan, and the memory that each takes on a device and on its host. task_memory lists
// their memory part by part. The inner loop of the search (Trial) sums it from tables.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "plan/framework.h"
#include "predict/closed_form/scenario.h"
#include "predict/closed_form/working_memory.h"
#include "workflow/workflow.h"

namespace dovetail::predict {

/// A copy of a role's weights, shared by tasks that store the weights in the same way.
struct WeightCopy {
  std::vector<std::size_t> tasks;
  /// Task whose settings determine what is stored and, except for weights (weights_leave), what is offloaded: the task
  /// that trains, otherwise the first.
  std::size_t owner = 0;
  bool trained = false;  ///< whether one of the tasks trains
  bool engine = false;   ///< whether it is a separate copy in an engine's form
};

/// Returns the copies of all roles. `alike(a, b)`: whether two tasks of one role share a copy. `engine(task)`: whether
/// the task's copy is a separate one in the form that an engine stores. Rules have no copy.
std::vector<WeightCopy> weight_copies(const workflow::Workflow& workflow,
                                      const std::function<bool(std::size_t, std::size_t)>& alike,
                                      const std::function<bool(std::size_t)>& engine);

/// Bytes of a copy that belong to a device, whether they are stored there or on its host.
struct HeldBytes {
  StoredBytes stored;
  std::int64_t host_gradients = 0;  ///< gradients for an optimizer on the host, in addition to `stored`
  std::int64_t host_optimizer = 0;  ///< part of the optimizer that is always in host memory, in addition to `stored`
  plan::Offload offload;            ///< parts off the device: weights while the copy is idle, others unless it trains
};

/// Returns the bytes of a role's copy in the form `stored`, with the layout and offload settings of `planned`.
HeldBytes held_bytes(const Scenario& scenario, std::size_t role, const plan::TaskPlan& planned, Stored stored);

/// Returns whether offloaded weights of the copy are discarded rather than moved to host memory.
inline bool discards_weights(const WeightCopy& copy, const plan::Job& job) {
  return copy.engine && !plan::engine_copies(job);
}

/// Returns whether a copy's weights are offloaded while idle: by the setting of its train task if it has one, otherwise
/// if all of its tasks offload them. `offloads(task)`: Offload::weights of the task.
template <class Offloads>
bool weights_leave(const WeightCopy& copy, const Offloads& offloads) {
  return copy.trained ? offloads(copy.owner) : std::all_of(copy.tasks.begin(), copy.tasks.end(), offloads);
}

/// Current use of a copy.
enum class CopyUse { idle, inference, generation, training };
CopyUse use_by(workflow::TaskKind kind);

/// Returns the bytes of a copy on each of its devices, in addition to the working_memory of the task that uses it.
inline StoredBytes on_device(const HeldBytes& held, CopyUse use) {
  if (use == CopyUse::training) return {};
  const plan::Offload& offload = held.offload;
  const bool weights = use == CopyUse::inference || (use == CopyUse::idle && !offload.weights);
  return {weights ? held.stored.weights : 0, offload.gradients ? 0 : held.stored.gradients,
          offload.optimizer ? 0 : held.stored.optimizer};
}

/// Returns the bytes of a copy in host memory, per device. `discards`: offloaded weights are discarded.
inline std::int64_t on_host(const HeldBytes& held, bool discards, CopyUse use) {
  const plan::Offload& offload = held.offload;
  const bool trains = use == CopyUse::training;
  std::int64_t bytes = held.host_gradients + held.host_optimizer;
  if (offload.weights && use == CopyUse::idle && !discards) bytes += held.stored.weights;
  if (offload.gradients && !trains) bytes += held.stored.gradients;
  if (offload.optimizer && !trains) bytes += held.stored.optimizer;
  return bytes;
}

/// Returns whether the copy receives newly trained weights of its role.
inline bool receives(const WeightCopy& copy, const workflow::Workflow& workflow) {
  return !copy.trained && workflow.trained_by[workflow.role_of[copy.owner]->index()].has_value();
}

/// Returns the bytes in transit while new weights of a role replace old ones. To an engine: the embedding, as the
/// largest tensor, and the bucket that tensors are packed into (plan::sync_bucket). Otherwise: two buckets of
/// realloc::PlanOptions.
std::int64_t bytes_in_transit(const Scenario& scenario, std::size_t role, bool to_engine);

}  // namespace dovetail::predict
