#include "trainers/export/variant.h"

#include <fmt/format.h>

#include <algorithm>

namespace dovetail::trainers {

std::vector<int> engine_pools(const cluster::Cluster& cluster) {
  const int nodes = cluster::node_count(cluster);
  const int all = nodes > 1 ? nodes : cluster::device_count(cluster);
  const int each = nodes > 1 ? cluster.groups.front().devices_per_node : 1;
  std::vector<int> sizes;
  for (int quarters = 1; quarters < 4; ++quarters)
    if (const int size = all * quarters / 4 * each; size > 0 && (sizes.empty() || sizes.back() < size))
      sizes.push_back(size);
  return sizes;
}

std::string shared_name() { return "engines share the trainer's GPUs"; }

std::string apart_name(const cluster::Cluster& cluster, int engines) {
  return fmt::format("{} of {} GPUs for engines", engines, cluster::device_count(cluster));
}

std::vector<Variant> combined(const std::vector<Variant>& backends, const std::vector<Variant>& modes) {
  std::vector<Variant> all = backends;
  all.insert(all.end(), modes.begin(), modes.end());
  for (const Variant& backend : backends)
    for (const Variant& mode : modes) {
      Variant both{.name = fmt::format("{}, {}", backend.name, mode.name), .changes = backend.changes};
      both.changes.insert(both.changes.end(), mode.changes.begin(), mode.changes.end());
      all.push_back(std::move(both));
    }
  return all;
}

bool runs_none_ahead(const plan::Job& job) { return job.workload.steps_off_policy == 0; }

bool shares_devices(const plan::Job& job, const plan::Plan& plan) {
  const plan::TaskPlan* const trained = find_planned(job, plan, "actor_train");
  const plan::TaskPlan* const generated = find_planned(job, plan, "actor_generate");
  return trained == nullptr || generated == nullptr || overlap(trained->mesh, generated->mesh);
}

}  // namespace dovetail::trainers
