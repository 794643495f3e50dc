// Meshes: the sets of devices that a task may run on.
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace dovetail::cluster {

/// The devices first ... first + count - 1.
struct Mesh {
  int first = 0;
  int count = 0;

  friend auto operator<=>(const Mesh&, const Mesh&) = default;
};

/// All meshes of at least `min_devices` that a search looks at, by their number of devices, then by their first:
/// - inside a node of D devices every aligned block of b < D devices, b a power of two or a divisor of D (it starts at
/// a multiple of b,
///   counted from the node's first device);
/// - every run of whole nodes, also of unequal ones.
/// N nodes of 8 with min_devices 4 have 2 N + N (N + 1) / 2, as many as ReaL's search enumerates.
/// Takes time and memory in the square of the number of nodes; memory only for the runs that `is_wanted` where it is
/// given, and for the whole cluster.
std::vector<Mesh> meshes_of(const Cluster& cluster, int min_devices = 1,
                            bool (*is_wanted)(int first_node, int node_count) = nullptr);

/// Whether the mesh has devices, all of them in the cluster, and either lies inside one node or consists of whole
/// nodes.
bool is_sound(const Cluster& cluster, const Mesh& mesh);

/// Whether a plan that is not searched may have the mesh: it is sound, or it has whole nodes and beside them the first
/// devices of the node behind them or the last of the node before. Costs count it as if each node had as few devices
/// of it as the one with the fewest.
bool is_usable(const Cluster& cluster, const Mesh& mesh);

/// Whether the two share a device.
bool overlap(const Mesh& a, const Mesh& b);
/// The least run of devices that holds both.
Mesh hull_of(const Mesh& a, const Mesh& b);

// Each of these REQUIRES that the mesh has devices and all of them are in the cluster.

/// How many nodes the mesh touches.
int nodes_of(const Cluster& cluster, const Mesh& mesh);
/// The level at which all its devices meet; see meeting_level.
int level_of(const Cluster& cluster, const Mesh& mesh);
/// "0-15" by the numbers in the cluster where it consists of whole nodes, "node 3: 4-7" or "node 3: 4" by the numbers
/// in the node where it is a part of one.
std::string name_of(const Cluster& cluster, const Mesh& mesh);

/// Nodes that follow each other and give a mesh the same devices.
struct MeshPart {
  int nodes = 0;
  int devices_per_node = 0;  ///< that belong to the mesh
  std::size_t group = 0;  ///< index in Cluster::groups: of those that differ in their number of nodes only, the first

  friend auto operator<=>(const MeshPart&, const MeshPart&) = default;
};

/// What a mesh is apart from where it is: what runs on one mesh takes the same time on all others of its shape. One
/// part where the nodes are equal.
struct MeshShape {
  std::vector<MeshPart> parts;
  int level = 0;  ///< at which its devices meet

  friend auto operator<=>(const MeshShape&, const MeshShape&) = default;
};

MeshShape shape_of(const Cluster& cluster, const Mesh& mesh);

}  // namespace dovetail::cluster
