#include "predict/closed_form/efficiency_choice.h"

#include <algorithm>

#include "base/assert.h"
#include "cost/bundled_efficiencies.h"

namespace dovetail::predict {
namespace {

std::vector<std::string> gpu_names(const cluster::Cluster& cluster) {
  std::vector<std::string> names;
  for (const cluster::NodeGroup& group : cluster.groups)
    if (std::find(names.begin(), names.end(), group.gpu.name) == names.end()) names.push_back(group.gpu.name);
  return names;
}

/// Whether the file gives a GPU's figures in place of its name.
bool is_custom(const cluster::NodeGroup& group) {
  const auto known = cluster::find_gpu(group.gpu.name);
  return !known.ok() || *known != group.gpu;
}

}  // namespace

std::string_view name_of(EfficiencyReason reason) {
  switch (reason) {
    case EfficiencyReason::named:
      return "named";
    case EfficiencyReason::fitted:
      return "fitted";
    case EfficiencyReason::gpu_fitted:
      return "gpu fitted";
    case EfficiencyReason::training_fitted:
      return "training fitted";
    case EfficiencyReason::unmeasured:
      return "unmeasured";
    case EfficiencyReason::custom_gpu:
      return "custom gpu";
    case EfficiencyReason::mixed_gpus:
      return "mixed gpus";
  }
  DOVETAIL_ASSERT(false);
}

EfficiencyChoice choose_efficiency(const plan::Job& job, std::string_view conventions) {
  EfficiencyChoice choice{job.software.efficiency, EfficiencyReason::named, gpu_names(job.cluster),
                          std::string(conventions)};
  if (!choice.efficiency.empty()) return choice;
  choice.efficiency = cost::Efficiency{}.name;
  choice.reason = EfficiencyReason::unmeasured;
  if (choice.gpus.size() > 1) {
    choice.reason = EfficiencyReason::mixed_gpus;
  } else if (const cost::FittedTo* fitted = cost::fitted_to(choice.gpus.front(), conventions)) {
    const auto& training = fitted->training;
    choice.efficiency = fitted->efficiency;
    if (fitted->gpu != choice.gpus.front()) {
      choice.reason = EfficiencyReason::training_fitted;
    } else {
      choice.reason = std::find(training.begin(), training.end(), conventions) != training.end()
                          ? EfficiencyReason::fitted
                          : EfficiencyReason::gpu_fitted;
    }
  } else if (std::any_of(job.cluster.groups.begin(), job.cluster.groups.end(), is_custom)) {
    choice.reason = EfficiencyReason::custom_gpu;
  }
  return choice;
}

}  // namespace dovetail::predict
