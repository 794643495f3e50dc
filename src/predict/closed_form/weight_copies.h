// The copies of a role's weights that a plan has, and what each of them takes of a device and of its node's host
// memory: the rules that task_memory, which prints them part by part, and the search's Trial, which adds them up from
// tables, have in common.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "plan/framework.h"
#include "predict/closed_form/host_share.h"
#include "predict/closed_form/working_memory.h"
#include "workflow/workflow.h"

namespace dovetail::predict {

/// Weights of a role that lie alike in some tasks.
struct WeightCopy {
  std::vector<std::size_t> tasks;
  std::size_t owner =
      0;  ///< whose settings say what is stored and what leaves the devices: the task that trains, else the first
  bool trained = false;
  bool engine = false;  ///< in a form of an engine's own
};

/// `alike(a, b)`: whether two tasks of one role use one copy; `engine(task)`: whether it has an engine's own form.
/// Rules have none.
std::vector<WeightCopy> weight_copies(const workflow::Workflow& workflow,
                                      const std::function<bool(std::size_t, std::size_t)>& alike,
                                      const std::function<bool(std::size_t)>& engine);

/// What a device has of a copy, wherever that lies.
struct HeldBytes {
  StoredBytes stored;
  std::int64_t host_gradients = 0;  ///< that follow an optimizer on the host, beside those stored
  std::int64_t host_optimizer = 0;  ///< what of it is always in host memory, beside the one stored
  plan::Offload offload;            ///< what of it leaves the device while none of its tasks runs
};

/// Of weights in that form, as `planned` lays them out and offloads them.
HeldBytes held_bytes(const Scenario& scenario, std::size_t role, const plan::TaskPlan& planned, Stored stored);

/// Whether a copy's weights are given up, not moved to host memory, where they leave.
inline bool discards_weights(const WeightCopy& copy, const plan::Job& job) {
  return copy.engine && !plan::engine_copies(job);
}

/// Whether a copy's weights leave while idle: where it is trained as its training says, else where all of its tasks let
/// them. `offloads(task)`: Offload::weights of the task.
template <class Offloads>
bool weights_leave(const WeightCopy& copy, const Offloads& offloads) {
  return copy.trained ? offloads(copy.owner) : std::all_of(copy.tasks.begin(), copy.tasks.end(), offloads);
}

/// What a copy is used for at a time.
enum class CopyUse { idle, inference, generation, training };
CopyUse use_by(workflow::TaskKind kind);

/// What of a copy is on each of its devices beside the working_memory of the task that uses it.
inline StoredBytes on_device(const HeldBytes& held, CopyUse use) {
  if (use == CopyUse::training) return {};
  const plan::Offload& offload = held.offload;
  const bool weights = use == CopyUse::inference || (use == CopyUse::idle && !offload.weights);
  return {weights ? held.stored.weights : 0, offload.gradients ? 0 : held.stored.gradients,
          offload.optimizer ? 0 : held.stored.optimizer};
}

/// What of a copy is in host memory for each of its devices. `discards`: its weights are given up, not moved there.
inline std::int64_t on_host(const HeldBytes& held, bool discards, CopyUse use) {
  const plan::Offload& offload = held.offload;
  const bool trains = use == CopyUse::training;
  std::int64_t bytes = held.host_gradients + held.host_optimizer;
  if (offload.weights && use == CopyUse::idle && !discards) bytes += held.stored.weights;
  if (offload.gradients && !trains) bytes += held.stored.gradients;
  if (offload.optimizer && !trains) bytes += held.stored.optimizer;
  return bytes;
}

/// Whether a copy's task waits for newly trained weights of its role.
inline bool receives(const WeightCopy& copy, const workflow::Workflow& workflow) {
  return !copy.trained && workflow.trained_by[workflow.role_of[copy.owner]->index()].has_value();
}

/// What is between the old and the new weights of a role while these arrive: for an engine a tensor, and the bucket
/// that it is packed into (plan::sync_bucket), else two messages.
std::int64_t bytes_on_their_way(const Scenario& scenario, std::size_t role, bool to_engine);

}  // namespace dovetail::predict
