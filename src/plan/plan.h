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
  std::string job_hash = {};                   ///< hash of the job that the plan file names; empty: not given
  std::vector<NotModelled> not_modelled = {};  ///< unmodeled settings of the configuration that it was read from

  /// Whether the plans are equivalent. Ignores the jobs they were made for and the settings that are not modeled.
  friend bool operator==(const Plan& a, const Plan& b) {
    return a.placement == b.placement && a.tasks == b.tasks && a.fusion == b.fusion;
  }
};

/// Whether the plan was made for another job: Plan::job_hash differs from job_hash(job). False if Plan::job_hash is
/// empty.
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
/// Checks the micro-batches or engine settings regardless of other settings. Then checks the fusions
/// (find_threshold_fault, find_training_fault). For a fault of inter-stage fusion, PlanFault::task is the generate
/// task, or 0 if no tasks can be fused with generation. For a fault of intra-stage fusion, it is the first train task.
/// REQUIRES: there is a TaskPlan for each task.
std::optional<PlanFault> find_fault(const Plan& plan, const Job& job);

}  // namespace dovetail::plan
