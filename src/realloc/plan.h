// Reallocation: moving one model's weights from one mesh and layout to another. Who sends which slice of which tensor
// to whom.
//
// - Every device ends with what its rank of the destination's layout holds of the weights that both models have (a head
// of another kind
//   stays what it was). What it holds already is not sent to it, not even parts of a slice; all else arrives exactly
//   once.
// - As few bytes as possible pass between nodes: a piece enters a node once if some device there needs it and none has
// it, and never
//   otherwise. No plan can do with less: such a node has to get each of the piece's bytes from outside at least once,
//   and devices that do not need the piece would change nothing about that. Nodes count as equally far from each other,
//   whatever the network's levels.
// - A piece is passed on by the devices that have got it, too, so that no holder has to send it to everybody (chains
// and trees).
// - A bundle of pieces is cut into shares, which enter a node at different devices and come from different senders:
// those with the least
//   to send and to receive so far, counting a bucket for each time that the share has been passed on before. Then the
//   senders of each share are chosen once more, with those of all others known, for as long as the busiest device gains
//   from it.
//
// ReaL (arXiv 2406.14088) sends whole shards from one replica on each source node, whatever the receiver holds. The
// fewest bytes between nodes as the aim: Zhuang et al., "On optimizing the communication of model parallelism"
// (cross-mesh resharding), 2022.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "llm/tensors.h"
#include "realloc/bundles.h"
#include "realloc/side.h"

namespace dovetail::realloc {

struct PlanOptions {
  int element_bytes = 2;             ///< of a weight
  bool trained_only = false;         ///< only adapters, where the model has any: all else is there already
  std::int64_t bucket = 64LL << 20;  ///< bytes: what one device sends another is packed into messages of up to so many
  std::int64_t min_share = 1LL << 20;  ///< bytes: bundles are not cut into smaller shares
  int rounds = 3;  ///< in which all senders are chosen once more, with the loads of all others known; fewer once
                   ///< nothing is gained
};

/// A part of a bundle's stream that goes from one device to another.
struct Flow {
  std::size_t bundle = 0;  ///< index in Plan::bundles
  std::int64_t begin = 0;  ///< elements of the stream [begin, end), cut between rows
  std::int64_t end = 0;
  DeviceId from;
  DeviceId to;
  int hops_inside = 0;   ///< how often it has been passed on before `from` had it: between devices of a node,
  int hops_between = 0;  ///< and between nodes
};

/// What goes where, in an order in which every sender has what it sends: it held it before, or an earlier flow brought
/// it.
struct Plan {
  PlanOptions options;
  std::vector<Pattern> patterns;
  std::vector<Bundle> bundles;
  std::vector<Flow> flows;
  std::vector<int> node_of;  ///< [device of the cluster]
};

/// REQUIRES: no fault of the two sides; element_bytes, bucket and min_share at least 1, rounds at least 0.
Plan plan_reallocation(const cluster::Cluster& cluster, const Side& source, const Side& destination,
                       const PlanOptions& options = {});

/// One rectangle of one tensor that one device sends another. What a device keeps is in none.
struct Transfer {
  std::int32_t tensor =
      0;  ///< index in llm::tensors_of(destination.model); a tied head's slices are named as the embedding's
  llm::Slice slice;
  DeviceId from;
  DeviceId to;
};

/// All of them, in an order in which every sender has what it sends.
std::vector<Transfer> transfers_of(const Plan& plan);

/// What a device sends and receives, in bytes; a bucket is a message, a rectangle a piece.
struct DeviceTraffic {
  std::int64_t sent_inside = 0;  ///< to devices of its own node
  std::int64_t received_inside = 0;
  std::int64_t sent_between = 0;  ///< to other nodes
  std::int64_t received_between = 0;
  std::int64_t messages_sent_inside = 0;
  std::int64_t messages_received_inside = 0;
  std::int64_t messages_sent_between = 0;
  std::int64_t messages_received_between = 0;
  std::int64_t pieces = 0;   ///< that it packs or unpacks
  std::int64_t staging = 0;  ///< of its buffers: the largest message that it sends, and the largest that it receives

  std::int64_t sent() const { return sent_inside + sent_between; }
  std::int64_t received() const { return received_inside + received_between; }
};

/// [device of the cluster].
std::vector<DeviceTraffic> traffic_of(const Plan& plan);

/// A plan in figures. All but transfers and messages are bytes.
struct Summary {
  std::int64_t bytes = 0;          ///< sent in all
  std::int64_t bytes_between = 0;  ///< of these, between nodes: no plan has less
  std::int64_t max_sent = 0;       ///< by a device
  std::int64_t max_received = 0;
  std::int64_t max_sent_by_node = 0;  ///< to other nodes
  std::int64_t max_received_by_node = 0;
  std::int64_t transfers = 0;  ///< transfers_of(plan).size()
  std::int64_t messages = 0;
  std::int64_t transient =
      0;  ///< the most that a device holds beyond what it held before: all that arrives, and its buffers
};
Summary summarize(const Plan& plan);
Summary summarize(const Plan& plan, const std::vector<DeviceTraffic>& traffic);

}  // namespace dovetail::realloc
