// Settings that a job fixes, so that searches do not change them.
#pragma once

#include <optional>
#include <string>

#include "base/descriptor.h"
#include "plan/task_plan.h"
#include "workflow/workflow.h"

namespace dovetail::plan {

/// The fixed settings of a task. Members that are not set may have any value.
struct TaskPin {
  std::optional<cluster::Mesh> mesh = std::nullopt;
  base::Partial<llm::Layout> layout = {};
  std::optional<MicroBatching> micro_batching = std::nullopt;
  base::Partial<Engine> engine = {};
  std::optional<Offload> offload = std::nullopt;  ///< fixes all flags at once

  friend bool operator==(const TaskPin&, const TaskPin&) = default;
};
static_assert(base::member_count<TaskPin> == base::member_count<TaskPlan>, "each part of a plan can be fixed");

/// The fixed fusion of a job's plans (fusion.h). Members that are not set may have any value.
struct FusionPin {
  std::optional<bool> inter_stage = std::nullopt;  ///< whether generation is fused with inference
  std::optional<double> threshold = std::nullopt;  ///< required threshold of that fusion
  std::optional<bool> intra_stage = std::nullopt;  ///< whether two train tasks are fused

  friend bool operator==(const FusionPin&, const FusionPin&) = default;
};

/// Whether the pin lets a task run on `mesh`.
bool admits(const TaskPin& pin, const cluster::Mesh& mesh);
/// Whether `layout` has the fixed parallel degrees. A search checks this before it sets other members.
bool admits(const TaskPin& pin, const llm::Layout& layout);

/// Whether `plan` has all fixed settings.
bool agrees(const TaskPin& pin, const TaskPlan& plan);

/// Gives `plan` all fixed settings and leaves the others unchanged. agrees(pin, plan) holds afterwards. If the pin
/// admits the plan's mesh and layout, mesh and parallel degrees stay as they are.
void apply(const TaskPin& pin, TaskPlan& plan);

/// Returns why no plan of a task with this model can have the fixed settings, and what is accepted. nullopt if some
/// plan can have them.
///
/// Checks the mesh, and whether some layout with the fixed degrees uses all its devices. If the mesh is not fixed, such
/// a layout must exist for some mesh of the cluster. Checks every remaining setting by itself. Does not check memory. A
/// fixed mesh need not be one of cluster::meshes_of. The running time is linear in the number of devices and, with
/// unequal nodes, quadratic in the number of nodes.
std::optional<std::string> find_fault(const TaskPin& pin, const llm::Transformer& model,
                                      const cluster::Cluster& cluster);

/// Returns `engine` with limits that let all max_num_seqs sequences decode a token in one step. Changes only engines
/// with their own weights for which max_num_batched_tokens is less than max_num_seqs. Raises max_num_batched_tokens to
/// max_num_seqs. If the pin fixes max_num_batched_tokens, lowers max_num_seqs to it instead. If the pin fixes both,
/// changes nothing.
Engine with_matching_limits(const base::Partial<Engine>& pin, Engine engine);

}  // namespace dovetail::plan
