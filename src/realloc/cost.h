// Time of a reallocation, and a lower bound for all plans.
//
// Links are modeled as in cluster/collective.h, with contention. A device has one link to the devices of its node and
// one to the network. Each link sends and receives at the same time, and both links work at the same time. A node's
// network traffic is spread over its devices' links, so a node is never slower than its slowest device. On a link of
// bandwidth b, latency l and half size h (cluster::Link), n messages of V bytes in total take
//
//   n l + (V + n h) / b
//
// A device packs its data for each other device into buckets. On a link, n is therefore the sum, over the devices that
// it sends to, of ceil(bytes to that device / bucket); likewise for receiving. A device takes as long as its slowest
// link, plus packing and unpacking. The plan takes as long as the slowest device, plus forwarding. Forwarding takes as
// long as the first bucket of a share needs to reach the last link of its path, for the share that needs longest.
//
// The lower bound holds for every plan with these properties: it moves as few bytes between nodes as plan_reallocation,
// no message exceeds a bucket, and devices handle only blocks that they hold or need. The bound ignores packing and
// forwarding. A node holds or needs a block if one of its devices does, and lacks it if none of them holds it. Let f(V)
// be the time of V bytes in buckets on a link, which increases with V. In such a plan:
// - A block that a node needs and lacks enters the node exactly once, over the network link of a device that needs it.
//   Let X be the bytes of all such blocks of a node, and k the number of its devices that need any of them. One of
//   these devices receives at least X / k bytes from the network, which takes f(X / k). If only one device of the node
//   needs a block, the block enters at that device.
// - A block that a node holds never enters the node. Its devices that need the block and do not hold it receive it from
//   other devices of the node. For each of them, this takes f(bytes of all its blocks of this kind). If only one device
//   of the node holds the block, it must send the block inside the node at least once. For this device, this takes
//   f(bytes of all its blocks of this kind).
// - All data that a device receives arrives over its two links, which takes at least
//   bytes / (bandwidth inside + bandwidth between).
// - A block that only one node holds and another node needs leaves the first node at least once. Let X be the bytes of
//   all such blocks of a node, and k the number of its devices that hold or need any of them. Sending them takes one of
//   these devices at least f(X / k). If a single device of the node holds the block and the others do not need it, the
//   block leaves over that device's link.
// - Let X be all bytes that move between nodes. Only devices that hold or need any of the moved blocks send these
//   bytes. Only devices that need a block that their node lacks receive them. With k such senders, sending takes
//   f(X / k); likewise for receivers.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/collective.h"
#include "realloc/plan.h"

namespace dovetail::realloc {

/// Costs of packing and unpacking, in addition to those of the links: one kernel launch per block. The default is an
/// assumption, not a measurement. (ReaL's estimate instead adds 30 ms for each receiving step of its plan.)
struct Overhead {
  double seconds_per_block = 5e-6;  ///< seconds to pack a block at the sender, or to unpack it at the receiver
};

struct ReallocationSeconds {
  double seconds = 0;
  double lower_bound = 0;

  /// Returns the relative distance of `seconds` from the lower bound, or 0 if nothing moves.
  double gap() const { return lower_bound > 0 ? seconds / lower_bound - 1 : 0; }
};

/// Returns the time of `plan` and the lower bound. `links` must be cluster::links_of(cluster,
/// cluster::hull_of(source.mesh, destination.mesh)).
ReallocationSeconds reallocation_seconds(const Plan& plan, const cluster::Links& links, const Overhead& overhead = {});
/// Returns the time of `plan` and the lower bound, given `traffic`, the result of traffic_of(plan).
ReallocationSeconds reallocation_seconds(const Plan& plan, const std::vector<DeviceTraffic>& traffic,
                                         const cluster::Links& links, const Overhead& overhead = {});

/// Returns the minimum number of bytes that any plan with the bundles of `plan` moves between nodes: for each block,
/// one copy for each node that needs and lacks it. Plans of plan_reallocation move exactly this many. Ignores
/// plan.flows.
std::int64_t min_bytes_between(const Plan& plan);

}  // namespace dovetail::realloc
