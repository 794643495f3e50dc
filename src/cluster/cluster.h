// A cluster: nodes with their GPUs, and the network between the nodes.
//
// Devices are numbered from 0, node by node, in the order of the groups. Nodes are numbered the same way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "cluster/gpu.h"

namespace dovetail::cluster {

using base::DeviceId;
using NodeId = base::Id<struct NodeTag>;

/// A group of equal nodes.
struct NodeGroup {
  int nodes = 1;
  int devices_per_node = 1;
  Gpu gpu;
  std::int64_t host_memory = 0;  ///< bytes of usable host memory in each node

  friend bool operator==(const NodeGroup&, const NodeGroup&) = default;
};

/// One level of the network between nodes.
struct NetworkLevel {
  std::string name;
  /// Number of consecutive nodes that one switch of this level joins. 0 on the last level, which joins all nodes.
  int nodes = 0;
  double bandwidth = 0;  ///< bytes/s of a device in one direction
  double latency = 0;    ///< seconds per message
  /// Measured size in bytes of a message that reaches half of the bandwidth. nullopt: LinkEfficiency::half_size.
  std::optional<double> half_bandwidth_size = std::nullopt;

  friend bool operator==(const NetworkLevel&, const NetworkLevel&) = default;
};

/// A cluster. read_cluster guarantees that it is valid. There is at least one group, each with at least one node and
/// one device per node. There is at least one network level. Each level's `nodes` is a larger multiple of the previous
/// level's, except on the last level, where it is 0.
struct Cluster {
  std::vector<NodeGroup> groups;
  std::vector<NetworkLevel> networks;  ///< from the innermost level to the level that joins all nodes
  std::optional<double> price;         ///< price of a device for an hour, in any currency

  friend bool operator==(const Cluster&, const Cluster&) = default;
};

/// Maximum number of devices that a file may specify.
inline constexpr int max_device_count = 65'536;

int node_count(const Cluster& cluster);
int device_count(const Cluster& cluster);
/// Whether all nodes have the same number of devices, the same GPU and the same host memory.
bool nodes_are_equal(const Cluster& cluster);

// The functions below REQUIRE that the node or device is in the cluster.

NodeId node_of(const Cluster& cluster, DeviceId device);
DeviceId first_device(const Cluster& cluster, NodeId node);
/// Returns the index of the node's group in `groups`.
std::size_t group_of(const Cluster& cluster, NodeId node);
/// Returns the number of devices of the node.
int devices_of(const Cluster& cluster, NodeId node);
const Gpu& gpu_of(const Cluster& cluster, DeviceId device);

/// Returns the innermost network level that joins two devices and all devices numbered between them. The result is 0 if
/// both devices are in one node, and otherwise 1 + the index in `networks` of the innermost level that joins their
/// nodes.
int meeting_level(const Cluster& cluster, DeviceId a, DeviceId b);

}  // namespace dovetail::cluster
