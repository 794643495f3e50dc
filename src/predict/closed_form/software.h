// Software of a job: its memory conventions, its efficiencies, and why these efficiencies were chosen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cost/conventions.h"
#include "cost/efficiency.h"
#include "cost/profile.h"
#include "plan/job.h"

namespace dovetail::predict {

/// Why a set of efficiencies was chosen.
enum class EfficiencyReason {
  named,            ///< the job names the set
  fitted,           ///< fitted to the job's GPU and memory conventions
  gpu_fitted,       ///< fitted to the job's GPU, but not to its memory conventions
  training_fitted,  ///< fitted to the job's memory conventions, but not to its GPU
  unmeasured,       ///< no measurements of the job's GPUs
  custom_gpu,       ///< the job file describes a GPU without measurements
  mixed_gpus,       ///< the cluster has several GPU types without joint measurements
};
/// Returns "named", "fitted", "gpu fitted", "training fitted", "unmeasured", "custom gpu" or "mixed gpus".
std::string_view name_of(EfficiencyReason reason);

struct EfficiencyChoice {
  std::string efficiency;  ///< name of the set, or path of its file
  EfficiencyReason reason = EfficiencyReason::named;
  std::vector<std::string> gpus;  ///< GPU types of the cluster, without repetition
  std::string training;           ///< name of the job's conventions
};

/// Returns the efficiencies that the job's `software` names. Otherwise, if the cluster has one GPU type, returns those
/// fitted to it or to the memory conventions, if any (cost/efficiency.h). In all other cases, returns "assumed".
EfficiencyChoice choose_efficiency(const plan::Job& job, std::string_view conventions);

struct Software {
  cost::Conventions conventions;
  cost::Efficiency efficiency;
  EfficiencyChoice choice = {};  ///< how `efficiency` was chosen
  cost::Profile profile = {};    ///< measured layers; empty if the job names no file
};

/// Returns the software that the job's `software` names. Defaults are the conventions of Megatron-LM and the
/// efficiencies that choose_efficiency returns. Efficiencies may also be the path of a dovetail/efficiency@1 file. A
/// profile is the path of a dovetail/profile@2 file. Errors: an unknown name or a loss whose memory is unknown, without
/// a position; an unreadable or invalid file; and a fixed setting that the trainer does not support, at its position in
/// the job's file.
base::Result<Software> software_of(const plan::Job& job);

/// Returns the conventions of the framework, otherwise the named ones, otherwise Megatron-LM's. Other settings of
/// `software`, such as data types and the ZeRO shard group, replace those of the conventions if they are set.
base::Result<cost::Conventions> conventions_of(const plan::Software& software);

/// Returns the bundled efficiencies with that name, or those of a file if the name is a path (.json, .yaml or .yml).
base::Result<cost::Efficiency> efficiency_of(const std::string& name);

}  // namespace dovetail::predict
