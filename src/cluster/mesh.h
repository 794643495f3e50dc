// Meshes: the sets of devices that tasks run on.
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

/// Returns the meshes that a search considers, without those of fewer than `min_devices` devices, ordered by number of
/// devices, then by first device:
/// - inside a node of D devices, every block of b < D devices that starts at a multiple of b, counted from the node's
///   first device. b is a power of two or a divisor of D.
/// - every run of whole nodes, which may be unequal.
/// N nodes of 8 devices, with min_devices 4, have 2 N + N (N + 1) / 2 meshes, as in ReaL's search.
///
/// `is_wanted` selects runs of whole nodes; nullptr selects all. The run of all nodes is always selected. Time is
/// quadratic in the number of nodes, and so is memory unless `is_wanted` rejects runs.
std::vector<Mesh> meshes_of(const Cluster& cluster, int min_devices = 1,
                            bool (*is_wanted)(int first_node, int node_count) = nullptr);

/// Whether the mesh has devices, all in the cluster, and either lies inside one node or consists of whole nodes.
bool is_sound(const Cluster& cluster, const Mesh& mesh);

/// Whether a plan may use the mesh. It must be sound, or consist of whole nodes plus the first devices of the next node
/// or the last devices of the previous node; searches try only sound meshes. Costs assume that every node contributes
/// as many devices as the node that contributes the fewest.
bool is_usable(const Cluster& cluster, const Mesh& mesh);

/// Whether the two meshes share a device.
bool overlap(const Mesh& a, const Mesh& b);
/// Returns the smallest run of devices that contains both.
Mesh hull_of(const Mesh& a, const Mesh& b);

// The functions below REQUIRE that the mesh has devices, and that all of them are in the cluster.

/// Returns the number of nodes that the mesh touches.
int nodes_of(const Cluster& cluster, const Mesh& mesh);
/// Returns the network level that joins all devices of the mesh; see meeting_level.
int level_of(const Cluster& cluster, const Mesh& mesh);
/// Returns the name of the mesh. If it consists of whole nodes or spans several nodes, this is "0-15", with the
/// cluster's device numbers. If it is part of one node, this is "4-7 of node 3" or "4 of node 3", with device numbers
/// that count from 0 in the node.
std::string name_of(const Cluster& cluster, const Mesh& mesh);

/// Consecutive nodes that are equal and contribute the same number of devices to a mesh.
struct MeshPart {
  int nodes = 0;
  int devices_per_node = 0;  ///< devices of each node that are in the mesh
  /// Index in Cluster::groups; among groups that differ only in their number of nodes, the first.
  std::size_t group = 0;

  friend auto operator<=>(const MeshPart&, const MeshPart&) = default;
};

/// A mesh without its position. Work takes the same time on all meshes of equal shape. `parts` are in the order of the
/// nodes, and neighboring parts differ.
struct MeshShape {
  std::vector<MeshPart> parts;
  int level = 0;  ///< network level that joins its devices

  friend auto operator<=>(const MeshShape&, const MeshShape&) = default;
};

MeshShape shape_of(const Cluster& cluster, const Mesh& mesh);

}  // namespace dovetail::cluster
