// A plan: the devices, layout and settings of each task of a job.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/fusion.h"
#include "plan/job.h"
#include "plan/task_plan.h"

namespace dovetail::plan {

struct Plan {
  std::string placement;                       ///< family of plans that it belongs to, or "custom"
  std::vector<TaskPlan> tasks;                 ///< [task of the job's workflow]
  Fusion fusion = {};                          ///< tasks that run together
  std::string job_hash = {};                   ///< hash of the job that the plan was made for; empty: not given
  std::vector<NotModelled> not_modelled = {};  ///< unmodeled settings of the configuration that the plan was read from

  /// Whether the placements, tasks and fusions are equal. Ignores the jobs that the plans were made for and the
  /// settings that are not modeled.
  friend bool operator==(const Plan& a, const Plan& b) {
    return a.placement == b.placement && a.tasks == b.tasks && a.fusion == b.fusion;
  }
};

/// Whether the plan was made for a job with another job_hash (job.h). False if the plan has no hash.
bool is_for_another_job(const Plan& plan, const Job& job);

/// Returns the tasks that the plan's inter-stage fusion runs together. nullopt if the plan has no such fusion.
std::optional<GenerationStage> fused_stage(const Job& job, const Plan& plan);

/// An invalid part of a plan.
struct PlanFault {
  std::size_t task = 0;  ///< index in the workflow
  std::string message;   ///< what is wrong, and what is accepted
};

/// Returns the first fault of a plan, or nullopt.
///
/// Checks for each task that its mesh belongs to the cluster, and that its layout fits the model and fills the mesh.
/// Checks its micro-batches or engine settings without regard to other settings. Then checks the fusions
/// (find_threshold_fault, find_training_fault). Reports a fault of a fusion at its generate task or first train task,
/// or at task 0 if no tasks can be fused with generation. REQUIRES: the plan has a TaskPlan for each task.
std::optional<PlanFault> find_fault(const Plan& plan, const Job& job);

}  // namespace dovetail::plan
