// Which efficiencies a job is predicted with, and why.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/job.h"

namespace dovetail::predict {

enum class EfficiencyReason {
  named,            ///< the job names them
  fitted,           ///< the job's GPU and training are what they were fitted to
  gpu_fitted,       ///< its GPU is, its training is not
  training_fitted,  ///< its training is, its GPU is not
  unmeasured,       ///< nothing was measured of its GPUs
  custom_gpu,       ///< its file describes a GPU itself, of which nothing was measured
  mixed_gpus,       ///< it has several GPUs; nothing was measured of them together
};
/// "named", "fitted", "gpu fitted", "training fitted", "unmeasured", "custom gpu", "mixed gpus".
std::string_view name_of(EfficiencyReason reason);

struct EfficiencyChoice {
  std::string efficiency;  ///< the name of the set, or the path of its file
  EfficiencyReason reason = EfficiencyReason::named;
  std::vector<std::string> gpus;  ///< of the cluster, each once
  std::string training;           ///< whose conventions the job has
};

/// What the job's `software` names; else what was fitted to its training or its GPUs (cost/bundled_efficiencies.h),
/// else "assumed".
EfficiencyChoice choose_efficiency(const plan::Job& job, std::string_view conventions);

}  // namespace dovetail::predict
