#include "trainers/export/trainer_writer.h"

#include <fmt/core.h>

#include <algorithm>

namespace dovetail::trainers {
namespace {

/// Returns a quarter, half and three quarters of all GPUs, rounded down to whole nodes if there are several. Sizes are
/// distinct.
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

}  // namespace

Pools present_pools(const plan::Job& job, const plan::Plan& plan) {
  const plan::TaskPlan* const trained = find_planned(job, plan, "actor_train");
  const plan::TaskPlan* const generated = find_planned(job, plan, "actor_generate");
  if (trained == nullptr || generated == nullptr) return {.shared = true};
  return {trained->mesh.count, generated->mesh.count, overlap(trained->mesh, generated->mesh)};
}

std::vector<Pools> other_pools(const AlternativesRequest& request) {
  const Pools present = present_pools(request.job, request.plan);
  const int all = cluster::device_count(request.job.cluster);
  std::vector<Pools> pools;
  // Engines that share GPUs cannot generate batches ahead.
  if (!present.shared && request.job.workload.steps_off_policy == 0) pools.push_back({all, all, true});
  for (const int engines : engine_pools(request.job.cluster))
    if (present.shared || present.engines != engines) pools.push_back({all - engines, engines, false});
  return pools;
}

std::string pools_name(const cluster::Cluster& cluster, const Pools& pools) {
  return pools.shared ? "engines share the trainer's GPUs"
                      : fmt::format("{} of {} GPUs for engines", pools.engines, cluster::device_count(cluster));
}

std::vector<Alternative> combined(const std::vector<Alternative>& backends, const std::vector<Alternative>& modes) {
  std::vector<Alternative> all = backends;
  all.insert(all.end(), modes.begin(), modes.end());
  for (const Alternative& backend : backends)
    for (const Alternative& mode : modes) {
      Alternative both{.name = fmt::format("{}, {}", backend.name, mode.name), .changes = backend.changes};
      both.changes.insert(both.changes.end(), mode.changes.begin(), mode.changes.end());
      all.push_back(std::move(both));
    }
  return all;
}

}  // namespace dovetail::trainers
