#include "place/predict/software.h"

#include <algorithm>
#include <string_view>

#include "base/file.h"
#include "cost/bundled_efficiencies.h"
#include "cost/efficiency_file.h"
#include "cost/profile_file.h"

namespace dovetail::place {
namespace {

/// What was measured on GPUs of that kind, where anything was.
std::string_view usual_efficiency(const cluster::Cluster& cluster) {
  const bool measured = std::all_of(cluster.groups.begin(), cluster.groups.end(),
                                    [](const cluster::NodeGroup& group) { return group.gpu.name == "H100-80"; });
  return measured ? "h100/megatron-vllm" : "assumed";
}

}  // namespace

base::Result<cost::Conventions> conventions_of(const plan::Software& software) {
  return cost::find_conventions(software.training.empty() ? "megatron" : software.training);
}

base::Result<cost::Efficiency> efficiency_of(const std::string& name) {
  if (!name.ends_with(".json") && !name.ends_with(".yaml") && !name.ends_with(".yml")) return cost::find_efficiency(name);
  DOVETAIL_TRY(const std::string content, base::read_file(name));
  return cost::parse_efficiency(content, name);
}

base::Result<Software> software_of(const plan::Job& job) {
  Software software;
  DOVETAIL_TRY(software.conventions, conventions_of(job.software));
  const std::string& efficiency = job.software.efficiency;
  DOVETAIL_TRY(software.efficiency, efficiency_of(efficiency.empty() ? std::string(usual_efficiency(job.cluster)) : efficiency));
  if (!job.software.profile.empty()) {
    DOVETAIL_TRY(const std::string content, base::read_file(job.software.profile));
    DOVETAIL_TRY(software.profile, cost::parse_profile(content, job.software.profile));
  }
  return software;
}

}  // namespace dovetail::place
