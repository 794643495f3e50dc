// The software that a job names: how it spends memory, and what it makes of a machine.
#pragma once

#include <string>

#include "base/result.h"
#include "cost/conventions.h"
#include "cost/efficiency.h"
#include "cost/profile.h"
#include "plan/job.h"
#include "predict/closed_form/efficiency_choice.h"

namespace dovetail::predict {

struct Software {
  cost::Conventions conventions;
  cost::Efficiency efficiency;
  EfficiencyChoice choice = {};  ///< of the efficiency
  cost::Profile profile = {};    ///< measured layers; without any where the job names no file
};

/// What the job's `software` names. Where it does not: the conventions of Megatron-LM, and choose_efficiency.
/// Efficiencies may also be the path of a dovetail/efficiency@1 file, and a profile is the path of a dovetail/profile@2
/// file. An Error with a message only for a name that is not known, with its place for what is wrong in a file.
base::Result<Software> software_of(const plan::Job& job);

/// The conventions of the framework, or those that are named; Megatron-LM's where neither is. With the types that the
/// job says, the tokens whose logits are there at once, and the ranks that ZeRO cuts over.
base::Result<cost::Conventions> conventions_of(const plan::Software& software);

/// The bundled efficiencies of that name, or, where it ends in .json, .yaml or .yml, those of the file at that path.
base::Result<cost::Efficiency> efficiency_of(const std::string& name);

}  // namespace dovetail::predict
