// What a job fixes of its plan: members of a task's part that a search must take as they are.
#pragma once

#include <optional>

#include "base/partial.h"
#include "plan/task_plan.h"

namespace dovetail::plan {

/// What is fixed of a TaskPlan; the rest is free.
struct TaskPin {
  std::optional<cluster::Mesh> mesh = std::nullopt;
  base::Partial<llm::Layout> layout = {};
  std::optional<MicroBatching> micro_batching = std::nullopt;
  base::Partial<Engine> engine = {};
  std::optional<Offload> offload = std::nullopt;  ///< all of it: what it does not name stays on the device

  friend bool operator==(const TaskPin&, const TaskPin&) = default;
};
static_assert(base::member_count<TaskPin> == base::member_count<TaskPlan>, "each part of a plan can be fixed");

/// What a job fixes of the fusion of its plans (fusion.h).
struct FusionPin {
  std::optional<bool> inter_stage = std::nullopt;  ///< whether generation is fused with inference
  std::optional<double> threshold = std::nullopt;  ///< at which, where it has to be
  std::optional<bool> intra_stage = std::nullopt;  ///< whether two train tasks are

  friend bool operator==(const FusionPin&, const FusionPin&) = default;
};

/// Whether the pin lets a task run on `mesh`.
bool admits(const TaskPin& pin, const cluster::Mesh& mesh);
/// Whether the parallel degrees of `layout` are those of the pin: what a search asks before it fills in settings.
bool admits(const TaskPin& pin, const llm::Layout& layout);

/// Whether `plan` has all that is fixed.
bool agrees(const TaskPin& pin, const TaskPlan& plan);

/// Gives `plan` all that is fixed, and leaves the rest of it alone; then agrees(pin, plan). Where the pin admits its
/// mesh and its layout, only settings change.
void apply(const TaskPin& pin, TaskPlan& plan);

}  // namespace dovetail::plan
