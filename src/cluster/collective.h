// How long transfers and collectives take.
//
// One level of links carries a message of `bytes` at bandwidth * bytes / (bytes + half_size), and each hop adds a
// latency (the alpha-beta model: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations
// in MPICH", 2005; its volumes are the bus bandwidth factors of NVIDIA's nccl-tests, doc/PERFORMANCE.md). A group that
// spans nodes works inside each node and, with the r ranks of a node side by side on links of their own, between N
// nodes; pieces of the message are on both at a time, so the slower of the two bounds:
//
//   seconds = hops inside * latency inside + hops between * latency between + max(seconds inside, seconds between)
//   seconds of a level = share * message / (bandwidth * message / (message + half_size)) = share * (message +
//   half_size) / bandwidth
//
//                                 inside (r > 1; message B)    between (N > 1; message B / r)
//                                 hops       share             hops             share
//   all_reduce                    2 (r-1)    2 (r-1)/r         2 ceil(log2 N)   2 (N-1)/N     rings inside, trees
//                                 between
//   all_gather, reduce_scatter    r-1        (r-1)/r           N-1              (N-1)/N       rings
//   broadcast                     r-1        1                 ceil(log2 N)     1             chains inside, trees
//                                 between
//
// In an all-to-all of n ranks each has (r-1)/n B for its own node and (n-r)/n B for others: two messages with share 1,
// whose seconds are added, because what goes to another node is collected inside first. It has r-1 hops inside and N-1
// between.
//
// Ranks that do not fill their last node cost as if they filled it, but for an all-to-all. A group of one rank, and no
// bytes, take no time. More bytes, more ranks on nodes of the same size, or slower links never take less time. Groups
// run at once only where each has links of its own, as the parallel groups of a layout have: nothing here knows of
// contention.
#pragma once

#include "cluster/cluster.h"
#include "cluster/mesh.h"

namespace dovetail::cluster {

/// What one level of links does.
struct Link {
  double bandwidth = 0;  ///< bytes/s that a device reaches in one direction with a large message
  double latency = 0;    ///< seconds of a hop
  double half_size = 0;  ///< bytes of a message that reaches half of the bandwidth
};

/// The links of a group.
struct Links {
  Link inside;   ///< of a node
  Link between;  ///< nodes
};

/// What part of the published figures a level of links reaches.
struct LinkEfficiency {
  double bandwidth = 1;  ///< fraction of the published bandwidth
  double latency = 0;    ///< seconds a hop, on top of what the cluster says of the level
  double half_size = 0;  ///< bytes; used where the cluster says nothing of the level
};

/// How well links are used: what calibration fits. The defaults inside a node meet NCCL's all-reduce on 8 H100 within
/// 17% from 1 to 32 MiB (27.8 us for 1 MiB, 121.3 us for 16 MiB: a table in pull request 3484 of kvcache-ai/Mooncake)
/// and take up to 1.5 times as long for smaller ones. Between nodes: 46 to 48 of 50 GB/s, as NVIDIA says of 400 Gb/s
/// cards (issue 290 of NVIDIA/nccl-tests); the half size there is an assumption.
struct CommunicationEfficiency {
  LinkEfficiency inside{.bandwidth = 0.8, .latency = 0.7e-6, .half_size = 3.5e6};
  LinkEfficiency between{.bandwidth = 0.93, .latency = 0, .half_size = 1e6};
};

/// The links of groups on `mesh`: inside, the slowest of its nodes; between, the slowest of all network levels from the
/// first up to that at which the mesh meets (the first where it lies in one node), and no faster than inside, since a
/// device is no faster than its own link. For transfers from one mesh to another, give their hull_of. REQUIRES: mesh is
/// in the cluster, efficiency's fractions are above 0.
Links links_of(const Cluster& cluster, const Mesh& mesh, const CommunicationEfficiency& efficiency = {});

/// Ranks that communicate: `ranks` of them, `ranks_per_node` on each node (more than `ranks` where they do not fill
/// one).
struct RankGroup {
  int ranks = 1;
  int ranks_per_node = 1;
};

// All seconds. REQUIRES: ranks and ranks per node at least 1, bytes at least 0, bandwidths above 0, latencies and half
// sizes at least 0.

/// One message from a device to another.
double send_seconds(const Link& link, double bytes);
/// `bytes`: of the buffer of each rank.
double all_reduce_seconds(const Links& links, RankGroup group, double bytes);
/// `bytes`: of what each rank has in the end.
double all_gather_seconds(const Links& links, RankGroup group, double bytes);
/// `bytes`: of what each rank has at the beginning.
double reduce_scatter_seconds(const Links& links, RankGroup group, double bytes);
/// `bytes`: of the buffer.
double broadcast_seconds(const Links& links, RankGroup group, double bytes);

/// What a rank sends in an all-to-all.
struct AllToAllBytes {
  double inside = 0;   ///< to the other ranks of its node
  double between = 0;  ///< to other nodes
};
/// Where `bytes` of a rank go that are shared out evenly over all ranks, itself among them.
AllToAllBytes all_to_all_bytes(RankGroup group, double bytes);
/// `bytes`: of what each rank has for all ranks, itself among them.
double all_to_all_seconds(const Links& links, RankGroup group, double bytes);
/// One dispatch, or one combine, of expert parallelism: tokens * experts a token * hidden size * bytes an element =
/// `bytes` of each rank, times `hottest_load`, what the busiest rank gets over the mean. REQUIRES: hottest_load is at
/// least 1.
double expert_all_to_all_seconds(const Links& links, RankGroup group, double bytes, double hottest_load);

}  // namespace dovetail::cluster
