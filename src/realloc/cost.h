// Time of a reallocation, and a lower bound for all plans.
//
// Links are modeled as in cluster/collective.h, with contention. A device has one link to the devices of its node and
// one to the network. Each link sends and receives at the same time, and both links work at the same time. A node's
// network traffic is spread over its devices' links, so a node is never slower than its slowest device. On a link of
// bandwidth b, latency l and half size h (cluster::Link), n messages of V bytes in total take
//
//   n l + (V + n h) / b
//
// A device packs its data for each other device into buckets, so n is the sum of ceil(bytes to a device / bucket) over
// all devices that it sends to over the link. A device takes as long as its slowest link, plus packing and unpacking.
// The plan takes as long as the slowest device, plus forwarding: for the share with the longest path, the time of a
// bucket on each link before the last.
//
// The lower bound holds for every plan that moves as few bytes between nodes as ours and whose messages are at most a
// bucket, if devices handle only blocks that they hold or need. It ignores packing and forwarding. Let f(V) be the time
// of V bytes in buckets on a link, which increases with V. In such a plan:
// - A block that a node needs and lacks enters the node exactly once, over a link of a device that lacks it. If X bytes
//   are such blocks and k devices lack any of them, one device receives at least X / k, which takes f(X / k). A block
//   that a single device lacks enters at that device.
// - A block that a device of a node holds never enters that node, so the node's other devices that need it receive it
//   inside. This takes each of them f(sum of the bytes of such blocks). If only one device of the node holds a block
//   and others there need it, that device must send the block inside at least once. Its sends take f(sum of the bytes
//   of such blocks).
// - All data of a device arrives over its two links, which takes at least
//   bytes / (bandwidth inside + bandwidth between).
// - A block that only one node holds and others need leaves that node at least once. If k of its devices hold or need
//   such blocks, this takes f(bytes / k). If a single device holds the block and no other device of the node needs it,
//   it leaves over that device's link.
// - All bytes between nodes are sent by the devices that hold or need any of them, and received by those that need any,
//   which takes f(bytes / number of devices).
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/collective.h"
#include "realloc/plan.h"

namespace dovetail::realloc {

/// Costs in addition to the links: one kernel launch for each rectangle that is packed or unpacked. The default is an
/// assumption, not a measurement. (ReaL adds 30 ms for each step that receives.)
struct Overhead {
  double seconds_per_block = 5e-6;  ///< seconds to pack a block at the sender, or to unpack it at the receiver
};

struct ReallocationSeconds {
  double seconds = 0;
  double lower_bound = 0;

  /// Returns the relative distance to the bound, or 0 if nothing moves.
  double gap() const { return lower_bound > 0 ? seconds / lower_bound - 1 : 0; }
};

/// Returns the time of `plan` and the lower bound. `links`: cluster::links_of(cluster, cluster::hull_of(source.mesh,
/// destination.mesh)).
ReallocationSeconds reallocation_seconds(const Plan& plan, const cluster::Links& links, const Overhead& overhead = {});
/// Returns the same, given `traffic`, the result of traffic_of(plan).
ReallocationSeconds reallocation_seconds(const Plan& plan, const std::vector<DeviceTraffic>& traffic,
                                         const cluster::Links& links, const Overhead& overhead = {});

/// Returns the minimum bytes between nodes of any plan: for each block, as many copies as there are nodes that need and
/// lack it. plan_reallocation moves exactly this many. Computed without the flows.
std::int64_t min_bytes_between(const Plan& plan);

}  // namespace dovetail::realloc
