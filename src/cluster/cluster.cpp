#include "cluster/cluster.h"

#include <algorithm>

#include "base/assert.h"

namespace dovetail::cluster {

namespace {

/// A group, with its first node and its first device.
struct GroupPlace {
  std::size_t index = 0;
  int first_node = 0;
  int first_device = 0;
};

int devices_in(const NodeGroup& group) { return group.nodes * group.devices_per_node; }

GroupPlace place_of_node(const Cluster& cluster, NodeId node) {
  DOVETAIL_ASSERT(node.value >= 0);
  GroupPlace place;
  for (; place.index < cluster.groups.size(); ++place.index) {
    const NodeGroup& group = cluster.groups[place.index];
    if (node.value < place.first_node + group.nodes) return place;
    place.first_node += group.nodes;
    place.first_device += devices_in(group);
  }
  DOVETAIL_ASSERT(false);
}

GroupPlace place_of_device(const Cluster& cluster, DeviceId device) {
  DOVETAIL_ASSERT(device.value >= 0);
  GroupPlace place;
  for (; place.index < cluster.groups.size(); ++place.index) {
    const NodeGroup& group = cluster.groups[place.index];
    if (device.value < place.first_device + devices_in(group)) return place;
    place.first_node += group.nodes;
    place.first_device += devices_in(group);
  }
  DOVETAIL_ASSERT(false);
}

}  // namespace

int node_count(const Cluster& cluster) {
  int count = 0;
  for (const NodeGroup& group : cluster.groups) count += group.nodes;
  return count;
}

int device_count(const Cluster& cluster) {
  int count = 0;
  for (const NodeGroup& group : cluster.groups) count += devices_in(group);
  return count;
}

bool nodes_are_equal(const Cluster& cluster) {
  return std::all_of(cluster.groups.begin(), cluster.groups.end(), [&](const NodeGroup& group) {
    const NodeGroup& first = cluster.groups.front();
    return group.devices_per_node == first.devices_per_node && group.gpu == first.gpu &&
           group.host_memory == first.host_memory;
  });
}

NodeId node_of(const Cluster& cluster, DeviceId device) {
  const GroupPlace place = place_of_device(cluster, device);
  return NodeId(place.first_node + (device.value - place.first_device) / cluster.groups[place.index].devices_per_node);
}

DeviceId first_device(const Cluster& cluster, NodeId node) {
  const GroupPlace place = place_of_node(cluster, node);
  return DeviceId(place.first_device + (node.value - place.first_node) * cluster.groups[place.index].devices_per_node);
}

std::size_t group_of(const Cluster& cluster, NodeId node) { return place_of_node(cluster, node).index; }

int devices_of(const Cluster& cluster, NodeId node) { return cluster.groups[group_of(cluster, node)].devices_per_node; }

const Gpu& gpu_of(const Cluster& cluster, DeviceId device) {
  return cluster.groups[place_of_device(cluster, device).index].gpu;
}

int meeting_level(const Cluster& cluster, DeviceId a, DeviceId b) {
  const int first = node_of(cluster, a).value;
  const int second = node_of(cluster, b).value;
  if (first == second) return 0;
  int level = 1;
  for (const NetworkLevel& network : cluster.networks) {
    if (network.nodes == 0 || first / network.nodes == second / network.nodes) return level;
    ++level;
  }
  DOVETAIL_ASSERT(false);
}

}  // namespace dovetail::cluster
