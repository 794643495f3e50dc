// Times of transfers and collectives.
//
// One level of links carries a message of `bytes` at bandwidth * bytes / (bytes + half_size), and each hop adds a
// latency. This is the alpha-beta model (Thakur, Rabenseifner and Gropp, "Optimization of collective communication
// operations in MPICH", 2005). The share of the message that a link carries in each collective is the bus bandwidth
// factor of NVIDIA's nccl-tests (doc/PERFORMANCE.md).
//
// A group that spans N nodes transfers chunks of the message inside the nodes and between them at the same time, so the
// slower level determines the time. Between nodes, each of the r ranks of a node uses its own link:
//
//   seconds = hops inside * latency inside + hops between * latency between + max(seconds inside, seconds between)
//   seconds of a level = share * message / (bandwidth * message / (message + half_size))
//                      = share * (message + half_size) / bandwidth
//
// B is the `bytes` argument of the functions below:
//
//                               inside (r > 1; message B)    between (N > 1; message B / r)
//                               hops       share             hops             share
//   all_reduce                  2 (r-1)    2 (r-1)/r         2 ceil(log2 N)   2 (N-1)/N   rings inside, trees between
//   all_gather, reduce_scatter  r-1        (r-1)/r           N-1              (N-1)/N     rings
//   broadcast                   r-1        1                 ceil(log2 N)     1           chains inside, trees between
//
// In an all-to-all of n ranks, each rank sends (r-1)/n B inside its node and (n-r)/n B to other nodes. These are two
// messages with share 1. Their times add up, because data for other nodes is first collected inside the node. There are
// r-1 hops inside and N-1 between.
//
// A group that does not fill its last node costs as much as one that does, except in an all-to-all. Groups of one rank
// and messages of 0 bytes take no time. More bytes, more ranks on nodes of the same size, or slower links never
// take less time. Contention is not modeled: groups may run at the same time only if each has its own links, as the
// parallel groups of a layout do.
#pragma once

#include "cluster/cluster.h"
#include "cluster/mesh.h"

namespace dovetail::cluster {

/// Speed of one level of links.
struct Link {
  double bandwidth = 0;  ///< bytes/s of a device in one direction, for large messages
  double latency = 0;    ///< seconds of a hop
  double half_size = 0;  ///< bytes of a message that reaches half of the bandwidth
};

/// The links of a group.
struct Links {
  Link inside;   ///< inside a node
  Link between;  ///< between nodes
};

/// Efficiency of a level of links relative to published figures.
struct LinkEfficiency {
  double bandwidth = 1;  ///< fraction of the published bandwidth
  double latency = 0;    ///< seconds per hop, in addition to NetworkLevel::latency between nodes
  double half_size = 0;  ///< bytes; used if the cluster does not specify it for the level
};

/// Efficiencies of the links inside and between nodes. Calibration fits them.
///
/// Inside a node, the defaults match NCCL's all-reduce on 8 H100 within 17% from 1 to 32 MiB. For smaller messages
/// they give up to 1.5 times the measured time. The measurements (27.8 us for 1 MiB, 121.3 us for 16 MiB) are from a
/// table in pull request 3484 of kvcache-ai/Mooncake. Between nodes, NVIDIA reports 46 to 48 of 50 GB/s for 400 Gb/s
/// cards (issue 290 of NVIDIA/nccl-tests). The half size between nodes is an assumption.
struct CommunicationEfficiency {
  LinkEfficiency inside{.bandwidth = 0.8, .latency = 0.7e-6, .half_size = 3.5e6};
  LinkEfficiency between{.bandwidth = 0.93, .latency = 0, .half_size = 1e6};
};

/// Returns the links of groups on `mesh`. Before `efficiency` applies, `inside` has the lowest bandwidth of the mesh's
/// nodes. `between` has the lowest bandwidth, the highest latency and the largest half size of the network levels up to
/// the one that joins the mesh; for a mesh in one node, only the first level counts. The resulting bandwidth between
/// nodes is at most the bandwidth inside, because the data passes a device's own link. For transfers between two
/// meshes, pass their hull_of. REQUIRES: the mesh is in the cluster, and the bandwidth efficiencies are above 0.
Links links_of(const Cluster& cluster, const Mesh& mesh, const CommunicationEfficiency& efficiency = {});

/// A group of `ranks` communicating ranks, with `ranks_per_node` on each node except that the last may have fewer. If
/// ranks_per_node exceeds ranks, the group is inside one node.
struct RankGroup {
  int ranks = 1;
  int ranks_per_node = 1;
};

// Times are in seconds. The functions below REQUIRE: ranks and ranks per node at least 1, bytes at least 0, bandwidths
// above 0, latencies and half sizes at least 0.

/// Returns the time of one message from a device to another.
double send_seconds(const Link& link, double bytes);
/// Returns the time of an all-reduce. `bytes`: size of each rank's buffer.
double all_reduce_seconds(const Links& links, RankGroup group, double bytes);
/// Returns the time of an all-gather. `bytes`: size of each rank's result.
double all_gather_seconds(const Links& links, RankGroup group, double bytes);
/// Returns the time of a reduce-scatter. `bytes`: size of each rank's input.
double reduce_scatter_seconds(const Links& links, RankGroup group, double bytes);
/// Returns the time of a broadcast. `bytes`: size of the buffer.
double broadcast_seconds(const Links& links, RankGroup group, double bytes);

/// Bytes that a rank sends in an all-to-all.
struct AllToAllBytes {
  double inside = 0;   ///< to the other ranks of its node
  double between = 0;  ///< to other nodes
};
/// Returns the bytes that a rank sends if it splits its `bytes` equally among all ranks, including itself.
AllToAllBytes all_to_all_bytes(RankGroup group, double bytes);
/// Returns the time of an all-to-all. `bytes` is the size of a rank's whole input, including the share that the rank
/// keeps.
double all_to_all_seconds(const Links& links, RankGroup group, double bytes);
/// Returns the time of one dispatch or combine of expert parallelism. `bytes` is the size of each rank's input:
/// tokens * experts per token * hidden size * bytes per element. `hottest_load` is the load of the busiest rank divided
/// by the mean load. REQUIRES: hottest_load >= 1.
double expert_all_to_all_seconds(const Links& links, RankGroup group, double bytes, double hottest_load);

}  // namespace dovetail::cluster
