#include "place/software.h"

#include <algorithm>
#include <string_view>

#include "cost/bundled_efficiencies.h"

namespace dovetail::place {
namespace {

/// What was measured on GPUs of that kind, where anything was.
std::string_view usual_efficiency(const cluster::Cluster& cluster) {
  const bool measured = std::all_of(cluster.groups.begin(), cluster.groups.end(),
                                    [](const cluster::NodeGroup& group) { return group.gpu.name == "H100-80"; });
  return measured ? "h100/megatron-vllm" : "assumed";
}

}  // namespace

base::Result<Software> software_of(const plan::Job& job) {
  Software software;
  DOVETAIL_TRY(software.conventions, cost::find_conventions(job.software.training.empty() ? "megatron" : job.software.training));
  DOVETAIL_TRY(software.efficiency,
               cost::find_efficiency(job.software.efficiency.empty() ? usual_efficiency(job.cluster) : job.software.efficiency));
  return software;
}

}  // namespace dovetail::place
