// A cluster: nodes with their GPUs, and the network between the nodes.
//
// Devices are numbered from 0 on, node by node in the order of the groups.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "cluster/gpu.h"

namespace dovetail::cluster {

using base::DeviceId;
using NodeId = base::Id<struct NodeTag>;

/// Nodes that are alike.
struct NodeGroup {
  int nodes = 1;
  int devices_per_node = 1;
  Gpu gpu;
  std::int64_t host_memory = 0;  ///< bytes of a node

  friend bool operator==(const NodeGroup&, const NodeGroup&) = default;
};

/// One level of the network between nodes.
struct NetworkLevel {
  std::string name;
  int nodes =
      0;  ///< that one switch of this level joins: nodes k * nodes ... (k + 1) * nodes - 1; 0 on the last level: all
  double bandwidth = 0;  ///< bytes/s of a device in one direction
  double latency = 0;    ///< seconds of a message
  std::optional<double> half_bandwidth_size =
      std::nullopt;  ///< bytes of a message that reaches half of the bandwidth, where it was measured

  friend bool operator==(const NetworkLevel&, const NetworkLevel&) = default;
};

/// A cluster; sound if it was read by read_cluster. Otherwise: at least one group, at least one node and device in
/// each, and at least one network, each level's `nodes` a multiple of that of the level before it, and 0 only on the
/// last.
struct Cluster {
  std::vector<NodeGroup> groups;
  std::vector<NetworkLevel> networks;  ///< from the innermost to the one that joins all nodes
  std::optional<double> price;         ///< of a device for an hour, in whatever currency

  friend bool operator==(const Cluster&, const Cluster&) = default;
};

/// The most devices that a file may ask for.
inline constexpr int max_device_count = 65'536;

int node_count(const Cluster& cluster);
int device_count(const Cluster& cluster);
/// Whether all nodes have as many devices, of the same GPU and with the same host memory.
bool nodes_are_equal(const Cluster& cluster);

// Each of these REQUIRES that the node or the device is in the cluster.

NodeId node_of(const Cluster& cluster, DeviceId device);
DeviceId first_device(const Cluster& cluster, NodeId node);
/// The index in `groups` of the node's group.
std::size_t group_of(const Cluster& cluster, NodeId node);
/// How many devices the node has.
int devices_of(const Cluster& cluster, NodeId node);
const Gpu& gpu_of(const Cluster& cluster, DeviceId device);

/// The level at which two devices meet, and with them all devices between the two: 0 inside a node, else 1 + the index
/// in `networks` of the innermost level that joins their nodes.
int meeting_level(const Cluster& cluster, DeviceId a, DeviceId b);

}  // namespace dovetail::cluster
