// What a job's trainer cannot do of what is fixed or planned (cost/trainer_limits.h).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/file_place.h"
#include "cost/conventions.h"
#include "plan/plan.h"

namespace dovetail::predict {

/// [task] the others whose mesh and layout of weights it has in every plan, as the trainer runs them with one model.
std::vector<std::vector<std::size_t>> linked_tasks(const plan::Job& job, const cost::Conventions& conventions);

struct TrainerFault {
  std::size_t task = 0;
  base::FilePlace place;  ///< in the job's file, of what is fixed
  std::string message;    ///< what the trainer cannot do; what is accepted
};

/// The first thing that the job fixes and its trainer cannot do.
std::optional<TrainerFault> find_trainer_fault(const plan::Job& job, const cost::Conventions& conventions);

/// All of a plan's tasks that the trainer cannot run as planned. The plan is predicted all the same.
std::vector<TrainerFault> trainer_faults(const plan::Job& job, const cost::Conventions& conventions,
                                         const plan::Plan& plan);

}  // namespace dovetail::predict
