// The software that a job names: how it spends memory, and what it makes of a machine.
#pragma once

#include "base/result.h"
#include "cost/conventions.h"
#include "cost/efficiency.h"
#include "plan/job.h"

namespace dovetail::place {

struct Software {
  cost::Conventions conventions;
  cost::Efficiency efficiency;
};

/// What the job's `software` names. Where it does not: the conventions of Megatron-LM; the efficiencies measured on H100
/// (cost/bundled_efficiencies.h) where all GPUs are that, else those that are assumed of software that nobody has measured. An Error with a
/// message only for a name that is not known.
base::Result<Software> software_of(const plan::Job& job);

}  // namespace dovetail::place
