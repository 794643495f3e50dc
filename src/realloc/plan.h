// Reallocation plans: which device sends which slices of which tensors to move a model's weights from one mesh and
// layout to another.
//
// - Every device ends with the weights that its rank holds in the destination layout, as far as both models have them.
//   A head that only one of the models has is not moved. Data that a device already holds is not sent to it, not even
//   parts of a slice. All other data arrives exactly once.
// - The number of bytes between nodes is minimal. A block (a rectangle of a tensor) enters a node once if a device of
//   the node needs it and none holds it, and never otherwise. No plan can move less, because such a node must receive
//   each byte of the block at least once. Relaying it through devices that do not need it would not change this. All
//   pairs of nodes count as equally far apart, regardless of network levels.
// - Devices forward blocks that they receive (chains and trees), so that no holder must send a block to every
//   device.
// - A bundle of blocks is cut into shares, which may come from different senders and enter a node at different devices.
//   At each node, a share enters at the device that has received least so far. Among the devices that have the share,
//   the sender is the one that has sent least so far, where each hop of the share to that device counts as another
//   bucket sent. Then rounds follow, at most PlanOptions::rounds. A round chooses the senders and receivers of each
//   share again, given the loads from all other shares. The rounds end when the maximum loads of a device no longer
//   decrease.
//
// ReaL (arXiv 2406.14088) sends whole shards from one replica on each source node, regardless of the data that the
// receiver holds. Zhuang et al., "On optimizing the communication of model parallelism" (cross-mesh resharding),
// 2022, also minimize the bytes between nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "llm/tensors.h"
#include "realloc/bundles.h"
#include "realloc/side.h"

namespace dovetail::realloc {

struct PlanOptions {
  int element_bytes = 2;               ///< bytes per weight
  bool trained_only = false;           ///< move only adapters if the model has any; the other weights are already there
  std::int64_t bucket = 64LL << 20;    ///< maximum message size in bytes
  std::int64_t min_share = 1LL << 20;  ///< minimum size of a share of a bundle, in bytes
  int rounds = 3;                      ///< maximum number of rounds that choose senders and receivers again
};

/// A part of a bundle's stream that moves from one device to another.
struct Flow {
  std::size_t bundle = 0;  ///< index in Plan::bundles
  std::int64_t begin = 0;  ///< first element in the stream; flows are cut between rows
  std::int64_t end = 0;
  DeviceId from;
  DeviceId to;
  int hops_inside = 0;   ///< number of hops inside nodes before `from` has the data
  int hops_between = 0;  ///< number of hops between nodes before `from` has the data
};

/// The flows of a reallocation. Every sender held its data before the reallocation, or received it in an earlier flow.
struct Plan {
  PlanOptions options;
  std::vector<Pattern> patterns;
  std::vector<Bundle> bundles;
  std::vector<Flow> flows;
  std::vector<int> node_of;  ///< [device of the cluster] its node
};

/// Plans the reallocation from `source` to `destination`. REQUIRES: find_fault returns nullopt for the two sides;
/// element_bytes, bucket and min_share are at least 1, and rounds is at least 0.
Plan plan_reallocation(const cluster::Cluster& cluster, const Side& source, const Side& destination,
                       const PlanOptions& options = {});

/// A rectangle of one tensor that one device sends to another.
struct Transfer {
  /// Index in llm::tensors_of(destination.model); a tied head's slices have the index of the embedding.
  std::int32_t tensor = 0;
  llm::Slice slice;
  DeviceId from;
  DeviceId to;
};

/// Returns all transfers, in an order in which every sender has its data.
std::vector<Transfer> transfers_of(const Plan& plan);

/// Bytes, messages and blocks that a device sends and receives. A message is one bucket of data, and a block is one
/// rectangle of a tensor.
struct DeviceTraffic {
  std::int64_t sent_inside = 0;  ///< bytes sent to devices of its node
  std::int64_t received_inside = 0;
  std::int64_t sent_between = 0;  ///< bytes sent to other nodes
  std::int64_t received_between = 0;
  std::int64_t messages_sent_inside = 0;
  std::int64_t messages_received_inside = 0;
  std::int64_t messages_sent_between = 0;
  std::int64_t messages_received_between = 0;
  std::int64_t blocks = 0;   ///< number of blocks that it packs or unpacks
  std::int64_t staging = 0;  ///< bytes of its buffers: its largest sent message plus its largest received message

  std::int64_t sent() const { return sent_inside + sent_between; }
  std::int64_t received() const { return received_inside + received_between; }
};

/// Returns the traffic of each device of the cluster.
std::vector<DeviceTraffic> traffic_of(const Plan& plan);

/// Totals of a plan. All members except transfers and messages are in bytes.
struct Summary {
  std::int64_t bytes = 0;          ///< total bytes sent
  std::int64_t bytes_between = 0;  ///< total bytes sent between nodes; no plan sends fewer
  std::int64_t max_sent = 0;       ///< maximum bytes sent by a device
  std::int64_t max_received = 0;
  std::int64_t max_sent_by_node = 0;  ///< maximum bytes sent by a node to other nodes
  std::int64_t max_received_by_node = 0;
  std::int64_t transfers = 0;  ///< transfers_of(plan).size()
  std::int64_t messages = 0;
  std::int64_t transient = 0;  ///< maximum additional memory of a device: received bytes and staging
};
Summary summarize(const Plan& plan);
Summary summarize(const Plan& plan, const std::vector<DeviceTraffic>& traffic);

}  // namespace dovetail::realloc
