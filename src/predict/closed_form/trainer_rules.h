// Fixed or planned settings that a job's trainer does not support (cost/conventions.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cost/conventions.h"
#include "plan/plan.h"

namespace dovetail::predict {

/// Returns, for each task, the other tasks that must share its mesh and weight layout, because the trainer runs them
/// with one model.
std::vector<std::vector<std::size_t>> linked_tasks(const plan::Job& job, const cost::Conventions& conventions);

struct TrainerFault {
  std::size_t task = 0;
  base::FilePlace place;  ///< position of the fixed setting in the job's file; empty for settings of a plan
  std::string message;    ///< unsupported setting, and what is accepted
};

/// Returns the first fixed setting of the job that its trainer does not support, or that contradicts the fixed settings
/// of a linked task; otherwise nullopt.
std::optional<TrainerFault> find_trainer_fault(const plan::Job& job, const cost::Conventions& conventions);

/// Returns all settings of a plan that the trainer does not support. Such a plan can still be predicted.
std::vector<TrainerFault> trainer_faults(const plan::Job& job, const cost::Conventions& conventions,
                                         const plan::Plan& plan);

}  // namespace dovetail::predict
