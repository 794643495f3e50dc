#include "predict/closed_form/software.h"

#include "base/file.h"
#include "cost/bundled_efficiencies.h"
#include "cost/efficiency_file.h"
#include "cost/profile_file.h"
#include "plan/framework.h"
#include "predict/closed_form/trainer_rules.h"

namespace dovetail::predict {
namespace {

/// Links inside a node do what was measured of them, whatever is published.
void take_links(const cost::Profile& profile, const cluster::Cluster& cluster, cluster::LinkEfficiency& inside) {
  const auto link = cost::measured_link(profile);
  const double published = cluster.groups.front().gpu.link_bandwidth;
  if (link && published > 0) inside = {link->bandwidth / published, link->latency, link->half_size};
}

}  // namespace

base::Result<cost::Conventions> conventions_of(const plan::Software& software) {
  if (const plan::Framework* const framework = plan::find_framework(software))
    return cost::find_conventions(framework->training);
  return cost::find_conventions(software.training.empty() ? "megatron" : software.training);
}

base::Result<cost::Efficiency> efficiency_of(const std::string& name) {
  if (!name.ends_with(".json") && !name.ends_with(".yaml") && !name.ends_with(".yml"))
    return cost::find_efficiency(name);
  DOVETAIL_TRY(const std::string content, base::read_file(name));
  return cost::parse_efficiency(content, name);
}

base::Result<Software> software_of(const plan::Job& job) {
  Software software;
  DOVETAIL_TRY(software.conventions, conventions_of(job.software));
  if (auto fault = find_trainer_fault(job, software.conventions)) {
    base::Error error = base::bad_input(std::move(fault->message));
    error.line = fault->place.line;
    error.column = fault->place.column;
    return error;
  }
  software.choice = choose_efficiency(job, software.conventions.name);
  DOVETAIL_TRY(software.efficiency, efficiency_of(software.choice.efficiency));
  if (!job.software.profile.empty()) {
    DOVETAIL_TRY(const std::string content, base::read_file(job.software.profile));
    DOVETAIL_TRY(software.profile, cost::parse_profile(content, job.software.profile));
    take_links(software.profile, job.cluster, software.efficiency.links.inside);
  }
  return software;
}

}  // namespace dovetail::predict
