// Clusters that the tests share.
#pragma once

#include <rapidcheck.h>

#include <string_view>
#include <vector>

#include "cluster/cluster.h"

namespace dovetail::cluster::test {

/// H100 nodes with this many devices each, joined by one network.
inline Cluster cluster_of(const std::vector<int>& devices_of_nodes) {
  Cluster cluster;
  cluster.networks = {{.name = "network", .nodes = 0, .bandwidth = 50e9, .latency = 5e-6}};
  for (const int devices : devices_of_nodes) {
    cluster.groups.push_back(
        {.nodes = 1, .devices_per_node = devices, .gpu = find_gpu("H100").value(), .host_memory = 0});
  }
  return cluster;
}

inline Cluster equal_nodes(int nodes, int devices_per_node) {
  Cluster cluster = cluster_of({devices_per_node});
  cluster.groups.front().nodes = nodes;
  return cluster;
}

/// `cluster` with racks of this many nodes below its network.
inline Cluster with_racks(Cluster cluster, int nodes) {
  cluster.networks.insert(cluster.networks.begin(),
                          {.name = "rack", .nodes = nodes, .bandwidth = 100e9, .latency = 2e-6});
  return cluster;
}

/// A random cluster of a few nodes.
inline Cluster random_cluster() {
  Cluster cluster =
      cluster_of(*rc::gen::nonEmpty(rc::gen::resize(5, rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 13)))));
  for (NodeGroup& group : cluster.groups) {
    group.nodes = *rc::gen::inRange(1, 4);
    group.gpu = find_gpu(*rc::gen::element<std::string_view>("H100", "A100-40")).value();
  }
  return *rc::gen::arbitrary<bool>() ? with_racks(cluster, *rc::gen::inRange(2, 5)) : cluster;
}

}  // namespace dovetail::cluster::test
