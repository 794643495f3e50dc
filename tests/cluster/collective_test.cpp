#include "cluster/collective.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "cluster/clusters.h"

namespace dovetail::cluster {
namespace {

constexpr double microsecond = 1e-6;
constexpr Links links = {.inside = {.bandwidth = 100e9, .latency = 1e-6, .half_size = 1e6},
                         .between = {.bandwidth = 10e9, .latency = 5e-6, .half_size = 0.5e6}};

TEST(Send, IsLatencyAndBytes) {
  EXPECT_DOUBLE_EQ(send_seconds(links.between, 1e6), (5 + 150) * microsecond);
  EXPECT_DOUBLE_EQ(send_seconds(links.inside, 1e6), (1 + 20) * microsecond)
      << "a message of the half size has half of the bandwidth";
  EXPECT_EQ(send_seconds(links.inside, 0), 0);
}

TEST(AllReduce, InsideANode) {
  // 6 hops of 1 us; 2 * 3/4 of (4 + 1) MB at 100 GB/s.
  EXPECT_DOUBLE_EQ(all_reduce_seconds(links, {4, 4}, 4e6), (6 + 75) * microsecond);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(links, {4, 8}, 4e6), (6 + 75) * microsecond) << "a node that is not filled";
}

TEST(AllReduce, BetweenNodes) {
  // 2 nodes: 6 us inside, 2 * 5 us between. Each rank has 1 MB; 2 * 1/2 of (1 + 0.5) MB at 10 GB/s takes longer than
  // the 75 us inside.
  EXPECT_DOUBLE_EQ(all_reduce_seconds(links, {8, 4}, 4e6), (6 + 10 + 150) * microsecond);
  // 4 nodes: a tree of depth 2; 2 * 3/4 of 1.5 MB.
  EXPECT_DOUBLE_EQ(all_reduce_seconds(links, {16, 4}, 4e6), (6 + 20 + 225) * microsecond);
  // 5 nodes: depth 3; 2 * 4/5 of 1.5 MB.
  EXPECT_DOUBLE_EQ(all_reduce_seconds(links, {17, 4}, 4e6), (6 + 30 + 240) * microsecond);
  // One rank per node: no work inside; 2 * 1/2 of 4.5 MB.
  EXPECT_DOUBLE_EQ(all_reduce_seconds(links, {2, 1}, 4e6), (10 + 450) * microsecond);
}

TEST(AllReduce, IsLimitedByTheSlowerLevel) {
  const Links fast_network = {.inside = links.inside, .between = {.bandwidth = 100e9, .latency = 5e-6, .half_size = 0}};
  EXPECT_DOUBLE_EQ(all_reduce_seconds(fast_network, {8, 4}, 4e6), (6 + 10 + 75) * microsecond);
}

TEST(AllGather, IsARing) {
  EXPECT_DOUBLE_EQ(all_gather_seconds(links, {4, 4}, 4e6), (3 + 37.5) * microsecond);
  EXPECT_DOUBLE_EQ(all_gather_seconds(links, {8, 4}, 4e6), (3 + 5 + 75) * microsecond);
  EXPECT_DOUBLE_EQ(all_gather_seconds(links, {16, 4}, 4e6), (3 + 15 + 112.5) * microsecond);
  EXPECT_DOUBLE_EQ(reduce_scatter_seconds(links, {16, 4}, 4e6), (3 + 15 + 112.5) * microsecond);
}

TEST(Broadcast, SendsAllOnce) {
  EXPECT_DOUBLE_EQ(broadcast_seconds(links, {4, 4}, 4e6), (3 + 50) * microsecond);
  EXPECT_DOUBLE_EQ(broadcast_seconds(links, {8, 4}, 4e6), (3 + 5 + 150) * microsecond);
  EXPECT_DOUBLE_EQ(broadcast_seconds(links, {3, 1}, 4e6), (10 + 450) * microsecond);
}

TEST(AllToAll, DistinguishesNodes) {
  const AllToAllBytes sent = all_to_all_bytes({64, 8}, 64e6);
  EXPECT_DOUBLE_EQ(sent.inside, 7e6);
  EXPECT_DOUBLE_EQ(sent.between, 56e6) << "1 - 8/64 of all";
  // 8 ranks on 2 nodes: 3 MB inside, 4 MB between.
  EXPECT_DOUBLE_EQ(all_to_all_seconds(links, {8, 4}, 8e6), (3 + 5 + 40 + 450) * microsecond);
  EXPECT_DOUBLE_EQ(all_to_all_seconds(links, {4, 4}, 8e6), (3 + 70) * microsecond);
  EXPECT_DOUBLE_EQ(all_to_all_seconds(links, {2, 1}, 8e6), (5 + 450) * microsecond);
}

TEST(AllToAll, OfExpertsWaitsForTheBusiestRank) {
  EXPECT_DOUBLE_EQ(expert_all_to_all_seconds(links, {8, 4}, 8e6, 1), all_to_all_seconds(links, {8, 4}, 8e6));
  EXPECT_DOUBLE_EQ(expert_all_to_all_seconds(links, {8, 4}, 8e6, 1.5), all_to_all_seconds(links, {8, 4}, 12e6));
}

TEST(LinksOf, ApplyEfficiencies) {
  const Cluster cluster = test::equal_nodes(4, 8);
  const Links reached = links_of(cluster, {0, 16});
  EXPECT_DOUBLE_EQ(reached.inside.bandwidth, 360e9);
  EXPECT_DOUBLE_EQ(reached.inside.latency, 0.7e-6);
  EXPECT_DOUBLE_EQ(reached.inside.half_size, 3.5e6);
  EXPECT_DOUBLE_EQ(reached.between.bandwidth, 46.5e9);
  EXPECT_DOUBLE_EQ(reached.between.latency, 5e-6);
  EXPECT_DOUBLE_EQ(reached.between.half_size, 1e6);
  const CommunicationEfficiency fitted = {.inside = {.bandwidth = 0.5, .latency = 3e-6, .half_size = 1},
                                          .between = {.bandwidth = 0.25, .latency = 2e-6, .half_size = 2}};
  EXPECT_DOUBLE_EQ(links_of(cluster, {0, 4}, fitted).inside.bandwidth, 225e9);
  EXPECT_DOUBLE_EQ(links_of(cluster, {0, 4}, fitted).between.bandwidth, 12.5e9);
  EXPECT_DOUBLE_EQ(links_of(cluster, {0, 4}, fitted).between.latency, 7e-6);
}

TEST(LinksOf, AreTheSlowestLevelsCrossed) {
  Cluster cluster = test::with_racks(test::equal_nodes(8, 8), 4);
  cluster.networks[1].half_bandwidth_size = 3e6;
  EXPECT_DOUBLE_EQ(links_of(cluster, {0, 32}).between.bandwidth, 93e9);
  EXPECT_DOUBLE_EQ(links_of(cluster, {0, 32}).between.latency, 2e-6);
  EXPECT_DOUBLE_EQ(links_of(cluster, {0, 8}).between.latency, 2e-6) << "in one node: the first level";
  EXPECT_DOUBLE_EQ(links_of(cluster, {0, 64}).between.bandwidth, 46.5e9);
  EXPECT_DOUBLE_EQ(links_of(cluster, {0, 64}).between.half_size, 3e6);
  cluster.networks[1].bandwidth = 200e9;
  EXPECT_DOUBLE_EQ(links_of(cluster, {0, 64}).between.bandwidth, 93e9) << "a fast spine above slow racks";

  Cluster mixed = test::cluster_of({8, 8});
  mixed.groups[1].gpu = find_gpu("L40S").value();
  EXPECT_DOUBLE_EQ(links_of(mixed, {0, 8}).inside.bandwidth, 360e9);
  EXPECT_DOUBLE_EQ(links_of(mixed, {0, 16}).inside.bandwidth, 25.6e9);
  EXPECT_DOUBLE_EQ(links_of(mixed, {0, 16}).between.bandwidth, 25.6e9) << "no device is faster than its own link";
}

TEST(AllReduce, IsNearNcclMeasurements) {
  // Pull request 3484 of kvcache-ai/Mooncake: 8 H100 of one node, out of place.
  const Links reached = links_of(test::equal_nodes(1, 8), {0, 8});
  struct Measured {
    double mebibytes;
    double microseconds;
  };
  constexpr std::array<Measured, 6> table = {
      {{1, 27.76}, {2, 40.66}, {4, 53.24}, {8, 81.16}, {16, 121.33}, {32, 195.40}}};
  for (const Measured& row : table) {
    const double seconds = all_reduce_seconds(reached, {8, 8}, row.mebibytes * 1048576);
    EXPECT_NEAR(seconds / (row.microseconds * microsecond), 1, 0.17) << row.mebibytes << " MiB";
  }
}

using Collective = double (*)(const Links&, RankGroup, double);
constexpr std::array<Collective, 5> collectives = {all_reduce_seconds, all_gather_seconds, reduce_scatter_seconds,
                                                   broadcast_seconds, all_to_all_seconds};

double between(double least, double most) { return least + (most - least) * *rc::gen::inRange(0, 1001) / 1000; }

Link random_link() {
  return {.bandwidth = between(1e9, 1e12), .latency = between(0, 1e-5), .half_size = between(0, 1e7)};
}

/// Links as links_of makes them: at most as fast between nodes as inside.
Links random_links() {
  Links made = {.inside = random_link(), .between = random_link()};
  if (made.between.bandwidth > made.inside.bandwidth) std::swap(made.between.bandwidth, made.inside.bandwidth);
  return made;
}

RC_GTEST_PROP(Collective, OneRankOrNoBytesTakeNoTime, ()) {
  const Links made = random_links();
  const int per_node = *rc::gen::inRange(1, 10);
  for (const Collective collective : collectives) {
    RC_ASSERT(collective(made, {1, per_node}, between(0, 1e9)) == 0);
    RC_ASSERT(collective(made, {*rc::gen::inRange(1, 100), per_node}, 0) == 0);
  }
}

RC_GTEST_PROP(Collective, MoreWorkIsNeverFaster, ()) {
  const Links made = random_links();
  const RankGroup group = {*rc::gen::inRange(1, 200), *rc::gen::inRange(1, 20)};
  const double bytes = between(0, 1e9);
  constexpr double rounding = 1 - 1e-12;
  for (const Collective collective : collectives) {
    const double seconds = collective(made, group, bytes);
    RC_ASSERT(seconds >= 0);
    RC_ASSERT(collective(made, group, bytes + between(0, 1e6)) >= seconds);
    RC_ASSERT(collective(made, {group.ranks + *rc::gen::inRange(1, 20), group.ranks_per_node}, bytes) >=
              seconds * rounding);
    Links slower = made;
    slower.between.bandwidth /= 2;
    slower.inside.latency *= 2;
    slower.between.half_size += 1;
    RC_ASSERT(collective(slower, group, bytes) >= seconds);
  }
}

RC_GTEST_PROP(Collective, AnAllReduceIsAtMostItsHalves, ()) {
  const Links made = random_links();
  const RankGroup group = {*rc::gen::inRange(2, 200), *rc::gen::inRange(1, 20)};
  const double bytes = between(1, 1e9);
  const double halves = reduce_scatter_seconds(made, group, bytes) + all_gather_seconds(made, group, bytes);
  RC_ASSERT(all_reduce_seconds(made, group, bytes) <= halves * (1 + 1e-12));
}

RC_GTEST_PROP(LinksOf, DependOnTheShapeOnly, ()) {
  const Cluster cluster = test::random_cluster();
  const std::vector<Mesh> meshes = meshes_of(cluster);
  const Mesh a = *rc::gen::elementOf(meshes);
  for (const Mesh& b : meshes) {
    if (shape_of(cluster, a) != shape_of(cluster, b)) continue;
    const Links of_a = links_of(cluster, a);
    const Links of_b = links_of(cluster, b);
    RC_ASSERT(of_a.inside.bandwidth == of_b.inside.bandwidth);
    RC_ASSERT(of_a.between.bandwidth == of_b.between.bandwidth);
    RC_ASSERT(of_a.between.latency == of_b.between.latency);
  }
}

}  // namespace
}  // namespace dovetail::cluster
