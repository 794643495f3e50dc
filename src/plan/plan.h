// A plan: on which devices, in which layout and with which settings each task of a job runs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "plan/fusion.h"
#include "plan/job.h"
#include "plan/not_modelled.h"
#include "plan/task_plan.h"

namespace dovetail::plan {

struct Plan {
  std::string placement;        ///< the family it belongs to, or "custom"
  std::vector<TaskPlan> tasks;  ///< [task of the job's workflow]
  Fusion fusion = {};           ///< which tasks run together
  std::string job_hash = {};    ///< of the job that its file says it was made for; empty: it says nothing
  std::vector<NotModelled> not_modelled = {};  ///< of the configuration that it was read from

  /// Whether they do the same; what they were made for, and what is not modelled, is no part of that.
  friend bool operator==(const Plan& a, const Plan& b) {
    return a.placement == b.placement && a.tasks == b.tasks && a.fusion == b.fusion;
  }
};

/// Whether the plan says that it was made for a job with another job_hash (job_canonical.h).
bool is_for_another_job(const Plan& plan, const Job& job);

/// What the plan's inter-stage fusion puts together; nothing without a threshold.
std::optional<GenerationStage> fused_stage(const Job& job, const Plan& plan);

/// What is wrong with a plan.
struct PlanFault {
  std::size_t task = 0;
  std::string message;  ///< what is wrong; what is accepted
};

/// The first task whose mesh is not one of the cluster's, whose layout has more or fewer devices than its mesh, or
/// cannot lay out its model, whose micro-batches or engine settings are none; else, at the first task that takes part,
/// why what is fused cannot be (find_threshold_fault, find_training_fault). REQUIRES: a TaskPlan a task.
std::optional<PlanFault> find_fault(const Plan& plan, const Job& job);

}  // namespace dovetail::plan
