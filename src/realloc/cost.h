// How long a reallocation takes, and what no plan can beat.
//
// The links of cluster/collective.h, with contention: a device has one link to the devices of its node and one to the
// network, both of them in both directions, and all four carry something at once. A node's network traffic is that of
// its devices, each on its own link, so a node is never slower than its slowest device. On a link of bandwidth b,
// latency l and half size h, n messages of V bytes together take
//
//   n l + (V + n h) / b
//
// What a device sends to one other is packed into buckets, so n is the sum of ceil(bytes to it / bucket). The slowest
// link of a device, and what it packs and unpacks, is its time. The slowest device decides, and what is passed on adds
// its way there: of the share with the longest way a bucket's time on each link before the last.
//
// The lower bound holds for every plan that moves as few bytes between nodes as ours, whose messages are no larger than
// a bucket, and in which devices handle only pieces that they hold or need. Packing and passing on count nothing in it.
// On such a plan, with f(V) the time of V bytes in buckets on a link, which grows with V:
// - A piece that a node needs and lacks enters it exactly once, on the links of those of its devices that lack it. With
// X bytes of such
//   pieces and k such devices, one of them takes in at least X / k: f(X / k). A piece that only one of them lacks
//   enters at that one.
// - A piece that some device of a node holds never enters that node again, so its other devices get it inside: per
// device f(their sum). If
//   there is a single holder on the node, it has to send the piece at least once: f(the sum over pieces) of sending.
// - All that arrives at a device comes over its two links: at least bytes / (bandwidth inside + bandwidth between).
// - A piece that one node alone has and others lack leaves it at least once, by k devices at most that hold it or get
// it: f(bytes / k). If
//   a single device holds it, and no other of its node lacks it, by that device's link.
// - All bytes between nodes are sent by the devices that hold or lack any of them, and taken in by those that lack any:
// f(bytes / number).
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/collective.h"
#include "realloc/plan.h"

namespace dovetail::realloc {

/// What is not on the links. An assumption, to be calibrated: a kernel launch a rectangle. (ReaL adds 30 ms for each
/// step that receives.)
struct Overhead {
  double seconds_per_piece = 5e-6;  ///< packed at the sender, unpacked at the receiver
};

struct ReallocationSeconds {
  double seconds = 0;
  double lower_bound = 0;

  /// How much longer than the bound, in parts of it; 0 where nothing moves.
  double gap() const { return lower_bound > 0 ? seconds / lower_bound - 1 : 0; }
};

/// `links`: cluster::links_of(cluster, cluster::hull_of(source.mesh, destination.mesh)).
ReallocationSeconds reallocation_seconds(const Plan& plan, const cluster::Links& links, const Overhead& overhead = {});
/// The same with what traffic_of(plan) gave.
ReallocationSeconds reallocation_seconds(const Plan& plan, const std::vector<DeviceTraffic>& traffic,
                                         const cluster::Links& links, const Overhead& overhead = {});

/// Bytes between nodes that no plan can do without: of each piece, as many copies as there are nodes that lack and need
/// it. What plan_reallocation moves, counted here without looking at its flows.
std::int64_t min_bytes_between(const Plan& plan);

}  // namespace dovetail::realloc
