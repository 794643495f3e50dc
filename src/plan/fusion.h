// Stage fusion: tasks of an iteration that run together on the same devices, where they would follow one another
// (RLHFuse, NSDI 2025).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/job.h"
#include "plan/task_plan.h"

namespace dovetail::plan {

/// Two train tasks of the workflow; in a fused schedule the first's pipelines run down the devices, the second's up.
using TrainPair = std::array<std::size_t, 2>;

/// The task that is trained in one schedule with `task`; nothing where it is not of the pair.
std::optional<std::size_t> partner_of(const TrainPair& pair, std::size_t task);

/// What of a plan is fused; by itself nothing.
struct Fusion {
  /// Inter-stage fusion (RLHFuse, section 4): once no more than this fraction of the iteration's samples is still being
  /// generated, they move together to a few instances, and the tasks of generation_stage() that infer begin on the
  /// devices of the others. Nothing: inference waits for all of generation.
  std::optional<double> threshold = std::nullopt;
  /// Intra-stage fusion (section 5): these two train tasks run in one schedule. Nothing: one after the other.
  std::optional<TrainPair> training = std::nullopt;

  bool any() const { return threshold || training; }
  friend bool operator==(const Fusion&, const Fusion&) = default;
};

/// What inter-stage fusion puts together.
struct GenerationStage {
  std::size_t generate = 0;  ///< a task of the workflow
  /// In its order: on the same devices, waiting for the data of `generate` and of each other alone.
  std::vector<std::size_t> infer;
};

/// The first generate task with such infer tasks; nothing where there is none. `tasks`: [task of the workflow].
std::optional<GenerationStage> generation_stage(const Job& job, const std::vector<TaskPlan>& tasks);

/// The first two train tasks, of two roles, neither of which waits for data of the other: those that a planner fuses.
/// Nothing where there are none (GRPO has no critic).
std::optional<TrainPair> train_pair(const Job& job);

/// The part of `fusion` that plans with these tasks can have.
Fusion possible_part(const Fusion& fusion, const Job& job, const std::vector<TaskPlan>& tasks);

/// Whether `fusion` is as the pin has it.
bool agrees(const FusionPin& pin, const Fusion& fusion);

// Why something cannot be fused and what is accepted; nothing where it can.

/// Inter-stage, at this threshold: not in (0, 1); no generation_stage().
std::optional<std::string> find_threshold_fault(double threshold, const Job& job, const std::vector<TaskPlan>& tasks);

/// What the pin demands although no plan of the job can have it: generation with inference, or two train tasks that can
/// be fused.
std::optional<std::string> find_fault(const FusionPin& pin, const Job& job);

/// Two train tasks with their parts of a plan: not two train tasks; one role; one waits for the other; not the same
/// devices; virtual stages; degrees that pipeline::fuse_layouts does not accept.
std::optional<std::string> find_training_fault(const Job& job, TrainPair pair, const TaskPlan& first,
                                               const TaskPlan& second);

/// Such a fault where nobody asked for the fusion: "one is on devices 0-3, the other on 4-7; fusion needs the same
/// devices".
std::string as_reason(std::string fault);

}  // namespace dovetail::plan
