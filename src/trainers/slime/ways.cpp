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

std::vector<OtherWay> slime_ways(const WaysRequest& request) {
  const bool leaves = present_pools(request.job, request.plan).shared;
  return mode_ways(request, [&](const Pools& pools) {
    std::vector<Setter> with = trainer_sizes(request.job.cluster, pools.trainer);
    const Setter engines{"--rollout-num-gpus", std::to_string(pools.engines)};
    if (pools.shared) {
      with.push_back(engines);
      return Change{.set = {"--colocate", {}}, .with = std::move(with)};
    }
    Change apart{.set = engines, .with = std::move(with)};
    // What leaves its GPUs is for who comes: nobody does. And slime takes no such flags without --colocate.
    if (leaves) apart.without = {"--colocate", "--offload", "--offload-rollout"};
    return apart;
  });
}

}  // namespace dovetail::trainers
