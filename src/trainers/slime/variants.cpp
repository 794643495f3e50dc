#include <algorithm>
#include <string>

#include "trainers/slime/writing.h"

namespace dovetail::trainers {
namespace {

/// So many GPUs of the trainer, of whole nodes where there are several.
std::vector<Setter> trainer_sizes(const cluster::Cluster& cluster, int trainer) {
  const int node = cluster.groups.front().devices_per_node;
  const int nodes = std::max(trainer / node, 1);
  return {{"--actor-num-nodes", std::to_string(nodes)}, {"--actor-num-gpus-per-node", std::to_string(trainer / nodes)}};
}

}  // namespace

std::vector<Variant> slime_variants(const VariantRequest& request) {
  if (!request.allowed.mode) return {};
  const cluster::Cluster& cluster = request.job.cluster;
  const int all = cluster::device_count(cluster);
  const bool shared = shares_devices(request.job, request.plan);
  const plan::TaskPlan* const generated = find_planned(request.job, request.plan, "actor_generate");
  std::vector<Variant> modes;
  if (!shared && runs_none_ahead(request.job)) {
    std::vector<Setter> with = trainer_sizes(cluster, all);
    with.push_back({"--rollout-num-gpus", std::to_string(all)});
    modes.push_back({shared_name(), {{.set = {"--colocate", {}}, .with = std::move(with)}}});
  }
  for (const int engines : engine_pools(cluster)) {
    if (generated == nullptr || (!shared && generated->mesh.count == engines)) continue;
    Change apart{.set = {"--rollout-num-gpus", std::to_string(engines)}, .with = trainer_sizes(cluster, all - engines)};
    // What leaves its GPUs is for who comes: nobody does. And slime takes no such flags without --colocate.
    if (shared) apart.without = {"--colocate", "--offload", "--offload-rollout"};
    modes.push_back({apart_name(cluster, engines), {std::move(apart)}});
  }
  return modes;
}

}  // namespace dovetail::trainers
