// What a job fixes of its plan: members of a task's part that a search must take as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/task_plan.h"

namespace dovetail::plan {

/// What is fixed of an Engine.
struct EnginePin {
  std::optional<double> memory_utilization = std::nullopt;
  std::optional<std::int64_t> max_num_seqs = std::nullopt;
  std::optional<std::int64_t> max_num_batched_tokens = std::nullopt;
  std::optional<bool> chunked_prefill = std::nullopt;
  std::optional<bool> longest_first = std::nullopt;
  std::optional<bool> cuda_graphs = std::nullopt;
  std::optional<bool> own_weights = std::nullopt;

  friend bool operator==(const EnginePin&, const EnginePin&) = default;
};

/// What is fixed of a TaskPlan; the rest is free.
struct TaskPin {
  std::optional<cluster::Mesh> mesh = std::nullopt;
  // Of the layout.
  std::optional<int> data = std::nullopt;
  std::optional<int> context = std::nullopt;
  std::optional<int> tensor = std::nullopt;
  std::optional<int> pipeline = std::nullopt;
  std::optional<int> virtual_stages = std::nullopt;
  std::optional<int> expert = std::nullopt;
  std::optional<int> expert_tensor = std::nullopt;
  std::optional<int> zero = std::nullopt;
  std::optional<bool> sequence_parallel = std::nullopt;
  std::optional<llm::Recomputation> recomputation = std::nullopt;
  std::optional<std::vector<int>> stage_layers = std::nullopt;
  // Settings.
  std::optional<MicroBatching> micro_batching = std::nullopt;
  EnginePin engine = {};
  std::optional<Offload> offload = std::nullopt;  ///< all of it: what it does not name stays on the device

  friend bool operator==(const TaskPin&, const TaskPin&) = default;
};

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

/// Gives `plan` all that is fixed, and leaves the rest of it alone; then agrees(pin, plan). Where the pin admits its mesh and its layout,
/// only settings change.
void apply(const TaskPin& pin, TaskPlan& plan);

}  // namespace dovetail::plan
