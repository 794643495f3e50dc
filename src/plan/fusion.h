// Stage fusion: tasks of an iteration that run together on the same devices instead of one after the other (RLHFuse,
// NSDI 2025).
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/job.h"
#include "plan/task_plan.h"

namespace dovetail::plan {

/// Two train tasks of the workflow. In a fused schedule, the pipelines of the first task run from the first device to
/// the last, and the pipelines of the second from the last to the first.
using TrainPair = std::array<std::size_t, 2>;

/// Returns the other task of the pair, or nullopt if `task` is not in the pair.
std::optional<std::size_t> partner_of(const TrainPair& pair, std::size_t task);

/// The fusions of a plan.
struct Fusion {
  /// Inter-stage fusion (RLHFuse, section 4). Once at most this fraction of the iteration's samples is still being
  /// generated, these samples move to a few instances. The infer tasks of generation_stage() then start on the devices
  /// of the other instances. nullopt: inference waits for all of generation.
  std::optional<double> threshold = std::nullopt;
  /// Intra-stage fusion (section 5): these two train tasks share one schedule. nullopt: no train tasks do.
  std::optional<TrainPair> training = std::nullopt;

  bool any() const { return threshold || training; }
  friend bool operator==(const Fusion&, const Fusion&) = default;
};

/// The tasks that inter-stage fusion runs together.
struct GenerationStage {
  std::size_t generate = 0;  ///< the generate task, by its index in the workflow
  /// Infer tasks on the devices of `generate` that depend only on it and on each other, by ascending index in the
  /// workflow.
  std::vector<std::size_t> infer;
};

/// Returns the stage of the first generate task for which GenerationStage::infer is not empty. nullopt if there is no
/// such task, or if the job's framework does not support inter-stage fusion. `tasks`: [task of the workflow].
std::optional<GenerationStage> generation_stage(const Job& job, const std::vector<TaskPlan>& tasks);

/// Returns the train tasks that a planner fuses: the first two of different roles that do not depend on each other.
/// nullopt if no such pair exists (GRPO has no critic), or if find_training_rejection() returns a reason.
std::optional<TrainPair> train_pair(const Job& job);

/// Returns the fusions in `fusion` that a plan with these tasks can have.
Fusion possible_fusion(const Fusion& fusion, const Job& job, const std::vector<TaskPlan>& tasks);

/// Whether `fusion` agrees with every member that the pin sets.
bool agrees(const FusionPin& pin, const Fusion& fusion);

// find_threshold_fault, find_fault and find_training_fault return why a fusion is impossible, and what is accepted.
// nullopt if it is possible.

/// Checks inter-stage fusion: the threshold must be in (0, 1), and the tasks must have a generation_stage().
std::optional<std::string> find_threshold_fault(double threshold, const Job& job, const std::vector<TaskPlan>& tasks);

/// Checks the pin's threshold, and that the job's framework and workflow allow the fusions that the pin requires. Does
/// not check the fixed settings of tasks, which may also make a fusion impossible.
std::optional<std::string> find_fault(const FusionPin& pin, const Job& job);

/// Checks intra-stage fusion. The job's framework must support it. It needs two train tasks of different roles on the
/// same devices, neither of which depends on the other. They must have no virtual stages, and degrees that
/// pipeline::fuse_layouts accepts.
std::optional<std::string> find_training_fault(const Job& job, TrainPair pair, const TaskPlan& first,
                                               const TaskPlan& second);

/// Returns the message of a fusion fault, reworded as the reason why a plan is not fused: "; accepted: " becomes
/// "; fusion needs ".
std::string as_reason(std::string fault);

}  // namespace dovetail::plan
