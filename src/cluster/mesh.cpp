#include "cluster/mesh.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/assert.h"

namespace dovetail::cluster {

namespace {

int end_of(const Mesh& mesh) { return mesh.first + mesh.count; }
DeviceId first_of(const Mesh& mesh) { return DeviceId(mesh.first); }
DeviceId last_of(const Mesh& mesh) { return DeviceId(end_of(mesh) - 1); }

bool is_in(const Cluster& cluster, const Mesh& mesh) {
  return mesh.first >= 0 && mesh.count > 0 && mesh.count <= device_count(cluster) - mesh.first;
}

/// Returns the sizes of the blocks inside a node with this many devices: powers of two and divisors, smaller than the
/// node.
std::vector<int> block_sizes(int devices) {
  std::vector<int> sizes;
  for (int size = 1; size < devices; ++size) {
    const bool is_power_of_two = (size & (size - 1)) == 0;
    if (is_power_of_two || devices % size == 0) sizes.push_back(size);
  }
  return sizes;
}

bool begins_a_node(const Cluster& cluster, const Mesh& mesh) {
  return first_device(cluster, node_of(cluster, first_of(mesh))) == first_of(mesh);
}

bool ends_a_node(const Cluster& cluster, const Mesh& mesh) {
  const NodeId last = node_of(cluster, last_of(mesh));
  return first_device(cluster, last).value + devices_of(cluster, last) == end_of(mesh);
}

bool is_whole_nodes(const Cluster& cluster, const Mesh& mesh) {
  return begins_a_node(cluster, mesh) && ends_a_node(cluster, mesh);
}

/// Returns the first group that equals group `index` in everything except the number of nodes.
std::size_t first_alike(const Cluster& cluster, std::size_t index) {
  NodeGroup wanted = cluster.groups[index];
  for (std::size_t i = 0; i < index; ++i) {
    wanted.nodes = cluster.groups[i].nodes;
    if (cluster.groups[i] == wanted) return i;
  }
  return index;
}

}  // namespace

std::vector<Mesh> meshes_of(const Cluster& cluster, int min_devices,
                            bool (*is_wanted)(int first_node, int node_count)) {
  std::vector<Mesh> meshes;
  const auto add = [&](int first, int count) {
    if (count >= min_devices) meshes.push_back({first, count});
  };
  std::vector<int> starts = {0};
  for (const NodeGroup& group : cluster.groups) {
    const std::vector<int> sizes = block_sizes(group.devices_per_node);
    for (int node = 0; node < group.nodes; ++node) {
      const int start = starts.back();
      for (const int size : sizes) {
        for (int block = 0; block + size <= group.devices_per_node; block += size) add(start + block, size);
      }
      starts.push_back(start + group.devices_per_node);
    }
  }
  const auto nodes = static_cast<int>(starts.size()) - 1;
  for (int first = 0; first < nodes; ++first) {
    for (int end = first + 1; end <= nodes; ++end) {
      const int start = starts[static_cast<std::size_t>(first)];
      if (!is_wanted || end - first == nodes || is_wanted(first, end - first))
        add(start, starts[static_cast<std::size_t>(end)] - start);
    }
  }
  std::sort(meshes.begin(), meshes.end(),
            [](const Mesh& a, const Mesh& b) { return a.count != b.count ? a.count < b.count : a.first < b.first; });
  return meshes;
}

bool is_sound(const Cluster& cluster, const Mesh& mesh) {
  return is_in(cluster, mesh) && (nodes_of(cluster, mesh) == 1 || is_whole_nodes(cluster, mesh));
}

bool is_usable(const Cluster& cluster, const Mesh& mesh) {
  return is_in(cluster, mesh) &&
         (nodes_of(cluster, mesh) == 1 || begins_a_node(cluster, mesh) || ends_a_node(cluster, mesh));
}

bool overlap(const Mesh& a, const Mesh& b) { return a.first < end_of(b) && b.first < end_of(a); }

Mesh hull_of(const Mesh& a, const Mesh& b) {
  const int first = std::min(a.first, b.first);
  return {.first = first, .count = std::max(end_of(a), end_of(b)) - first};
}

int nodes_of(const Cluster& cluster, const Mesh& mesh) {
  DOVETAIL_ASSERT(is_in(cluster, mesh));
  return node_of(cluster, last_of(mesh)).value - node_of(cluster, first_of(mesh)).value + 1;
}

int level_of(const Cluster& cluster, const Mesh& mesh) {
  DOVETAIL_ASSERT(is_in(cluster, mesh));
  return meeting_level(cluster, first_of(mesh), last_of(mesh));
}

std::string name_of(const Cluster& cluster, const Mesh& mesh) {
  DOVETAIL_ASSERT(is_in(cluster, mesh));
  const auto range = [&](int start) {
    const int first = mesh.first - start;
    return mesh.count == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + mesh.count - 1);
  };
  const NodeId node = node_of(cluster, first_of(mesh));
  if (nodes_of(cluster, mesh) > 1 || is_whole_nodes(cluster, mesh)) return range(0);
  return fmt::format("{} of node {}", range(first_device(cluster, node).value), node.value);
}

MeshShape shape_of(const Cluster& cluster, const Mesh& mesh) {
  MeshShape shape{.parts = {}, .level = level_of(cluster, mesh)};
  int device = mesh.first;
  for (int node = node_of(cluster, first_of(mesh)).value; device < end_of(mesh); ++node) {
    const int end =
        std::min(end_of(mesh), first_device(cluster, NodeId(node)).value + devices_of(cluster, NodeId(node)));
    const MeshPart part{
        .nodes = 1, .devices_per_node = end - device, .group = first_alike(cluster, group_of(cluster, NodeId(node)))};
    const bool continues = !shape.parts.empty() && shape.parts.back().devices_per_node == part.devices_per_node &&
                           shape.parts.back().group == part.group;
    if (continues) {
      ++shape.parts.back().nodes;
    } else {
      shape.parts.push_back(part);
    }
    device = end;
  }
  return shape;
}

}  // namespace dovetail::cluster
