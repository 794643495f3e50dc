#include "cluster/collective.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace dovetail::cluster {

namespace {

/// A group of ranks as the collectives see it.
struct Places {
  int in_node = 1;  ///< ranks on each node
  int nodes = 1;
};

Places places_of(RankGroup group) {
  DOVETAIL_ASSERT(group.ranks >= 1 && group.ranks_per_node >= 1);
  const int in_node = std::min(group.ranks, group.ranks_per_node);
  return {.in_node = in_node, .nodes = (group.ranks - 1) / in_node + 1};
}

/// Work of a collective on one level of links. Zero for a single rank.
struct Work {
  int hops = 0;
  double share = 0;  ///< fraction of the message that passes a rank's link; 2 means twice
};

double latency_of(const Link& link, const Work& work) { return work.hops * link.latency; }

double transfer_of(const Link& link, const Work& work, double message) {
  return work.share * (message + link.half_size) / link.bandwidth;
}

/// Returns the time if both levels work at once, on `bytes` inside the nodes and on each rank's share of them between
/// nodes.
double overlapped(const Links& links, const Places& places, const Work& inside, const Work& between, double bytes) {
  DOVETAIL_ASSERT(bytes >= 0);
  if (bytes == 0) return 0;
  return latency_of(links.inside, inside) + latency_of(links.between, between) +
         std::max(transfer_of(links.inside, inside, bytes),
                  transfer_of(links.between, between, bytes / places.in_node));
}

/// Returns the depth of a binary tree.
int tree_hops(int nodes) { return static_cast<int>(std::bit_width(static_cast<unsigned>(nodes - 1))); }

/// Returns the fraction of a message that belongs to the other ranks.
double share_of_others(int ranks) { return static_cast<double>(ranks - 1) / ranks; }

Work ring(int ranks) { return {.hops = ranks - 1, .share = share_of_others(ranks)}; }

/// Returns the work of sending the whole message to all other ranks.
Work spread(int ranks, int hops) { return {.hops = hops, .share = ranks > 1 ? 1.0 : 0.0}; }

/// Returns the slowest network level that a mesh crosses, before efficiencies except the half size.
Link slowest_network(const Cluster& cluster, int level, double default_half_size) {
  Link slowest;
  for (int i = 0; i < level; ++i) {
    const NetworkLevel& network = cluster.networks[static_cast<std::size_t>(i)];
    slowest.bandwidth = i == 0 ? network.bandwidth : std::min(slowest.bandwidth, network.bandwidth);
    slowest.latency = std::max(slowest.latency, network.latency);
    slowest.half_size = std::max(slowest.half_size, network.half_bandwidth_size.value_or(default_half_size));
  }
  return slowest;
}

double slowest_inside(const Cluster& cluster, const Mesh& mesh) {
  double bandwidth = gpu_of(cluster, DeviceId(mesh.first)).link_bandwidth;
  for (const MeshPart& part : shape_of(cluster, mesh).parts) {
    bandwidth = std::min(bandwidth, cluster.groups[part.group].gpu.link_bandwidth);
  }
  return bandwidth;
}

}  // namespace

Links links_of(const Cluster& cluster, const Mesh& mesh, const CommunicationEfficiency& efficiency) {
  DOVETAIL_ASSERT(efficiency.inside.bandwidth > 0 && efficiency.between.bandwidth > 0);
  const Link inside = {.bandwidth = slowest_inside(cluster, mesh) * efficiency.inside.bandwidth,
                       .latency = efficiency.inside.latency,
                       .half_size = efficiency.inside.half_size};
  const Link network = slowest_network(cluster, std::max(level_of(cluster, mesh), 1), efficiency.between.half_size);
  const Link between = {.bandwidth = std::min(network.bandwidth * efficiency.between.bandwidth, inside.bandwidth),
                        .latency = network.latency + efficiency.between.latency,
                        .half_size = network.half_size};
  return {.inside = inside, .between = between};
}

double send_seconds(const Link& link, double bytes) {
  DOVETAIL_ASSERT(bytes >= 0);
  const Work work = {.hops = 1, .share = 1};
  return bytes == 0 ? 0 : latency_of(link, work) + transfer_of(link, work, bytes);
}

double all_reduce_seconds(const Links& links, RankGroup group, double bytes) {
  const Places places = places_of(group);
  const Work inside = {.hops = 2 * (places.in_node - 1), .share = 2 * share_of_others(places.in_node)};
  const Work between = {.hops = 2 * tree_hops(places.nodes), .share = 2 * share_of_others(places.nodes)};
  return overlapped(links, places, inside, between, bytes);
}

double all_gather_seconds(const Links& links, RankGroup group, double bytes) {
  const Places places = places_of(group);
  return overlapped(links, places, ring(places.in_node), ring(places.nodes), bytes);
}

double reduce_scatter_seconds(const Links& links, RankGroup group, double bytes) {
  return all_gather_seconds(links, group, bytes);
}

double broadcast_seconds(const Links& links, RankGroup group, double bytes) {
  const Places places = places_of(group);
  return overlapped(links, places, spread(places.in_node, places.in_node - 1),
                    spread(places.nodes, tree_hops(places.nodes)), bytes);
}

AllToAllBytes all_to_all_bytes(RankGroup group, double bytes) {
  const int in_node = places_of(group).in_node;
  return {.inside = bytes * (in_node - 1) / group.ranks, .between = bytes * (group.ranks - in_node) / group.ranks};
}

double all_to_all_seconds(const Links& links, RankGroup group, double bytes) {
  DOVETAIL_ASSERT(bytes >= 0);
  if (bytes == 0) return 0;
  const Places places = places_of(group);
  const AllToAllBytes sent = all_to_all_bytes(group, bytes);
  const Work inside = spread(places.in_node, places.in_node - 1);
  const Work between = spread(places.nodes, places.nodes - 1);
  return latency_of(links.inside, inside) + latency_of(links.between, between) +
         transfer_of(links.inside, inside, sent.inside) + transfer_of(links.between, between, sent.between);
}

double expert_all_to_all_seconds(const Links& links, RankGroup group, double bytes, double hottest_load) {
  DOVETAIL_ASSERT(hottest_load >= 1);
  return all_to_all_seconds(links, group, bytes * hottest_load);
}

}  // namespace dovetail::cluster
