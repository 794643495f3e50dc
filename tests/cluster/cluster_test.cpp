#include "cluster/cluster.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cluster/clusters.h"

namespace dovetail::cluster {
namespace {

TEST(Cluster, CountsNodesAndDevices) {
  const Cluster cluster = test::cluster_of({8, 4, 6});
  EXPECT_EQ(node_count(cluster), 3);
  EXPECT_EQ(device_count(cluster), 18);
  EXPECT_EQ(node_of(cluster, DeviceId(7)), NodeId(0));
  EXPECT_EQ(node_of(cluster, DeviceId(8)), NodeId(1));
  EXPECT_EQ(node_of(cluster, DeviceId(17)), NodeId(2));
  EXPECT_EQ(first_device(cluster, NodeId(2)), DeviceId(12));
  EXPECT_EQ(devices_of(cluster, NodeId(1)), 4);
}

TEST(Cluster, FindsTheGroupOfANode) {
  Cluster cluster = test::equal_nodes(3, 8);
  cluster.groups.push_back({.nodes = 2, .devices_per_node = 4, .gpu = find_gpu("A100-40").value(), .host_memory = 7});
  EXPECT_EQ(group_of(cluster, NodeId(2)), 0U);
  EXPECT_EQ(group_of(cluster, NodeId(3)), 1U);
  EXPECT_EQ(gpu_of(cluster, DeviceId(23)).name, "H100-80");
  EXPECT_EQ(gpu_of(cluster, DeviceId(24)).name, "A100-40");
  EXPECT_EQ(first_device(cluster, NodeId(4)), DeviceId(28));
}

TEST(Cluster, DetectsEqualNodes) {
  EXPECT_TRUE(nodes_are_equal(test::equal_nodes(4, 8)));
  EXPECT_TRUE(nodes_are_equal(test::cluster_of({8, 8})));
  EXPECT_FALSE(nodes_are_equal(test::cluster_of({8, 4})));
  Cluster memory = test::cluster_of({8, 8});
  memory.groups[1].host_memory = 1;
  EXPECT_FALSE(nodes_are_equal(memory));
  Cluster gpu = test::cluster_of({8, 8});
  gpu.groups[1].gpu = find_gpu("H200").value();
  EXPECT_FALSE(nodes_are_equal(gpu));
}

TEST(Cluster, DevicesMeetAtTheInnermostLevel) {
  const Cluster flat = test::equal_nodes(8, 2);
  EXPECT_EQ(meeting_level(flat, DeviceId(4), DeviceId(4)), 0);
  EXPECT_EQ(meeting_level(flat, DeviceId(4), DeviceId(5)), 0);
  EXPECT_EQ(meeting_level(flat, DeviceId(0), DeviceId(15)), 1);
  const Cluster racks = test::with_racks(flat, 4);
  EXPECT_EQ(meeting_level(racks, DeviceId(0), DeviceId(7)), 1);
  EXPECT_EQ(meeting_level(racks, DeviceId(7), DeviceId(8)), 2);
  EXPECT_EQ(meeting_level(racks, DeviceId(8), DeviceId(7)), 2);
}

RC_GTEST_PROP(Cluster, NodesAndDevicesAgree, ()) {
  const Cluster cluster = test::random_cluster();
  int device = 0;
  for (int node = 0; node < node_count(cluster); ++node) {
    RC_ASSERT(first_device(cluster, NodeId(node)) == DeviceId(device));
    for (int i = 0; i < devices_of(cluster, NodeId(node)); ++i) {
      RC_ASSERT(node_of(cluster, DeviceId(device)) == NodeId(node));
      RC_ASSERT(gpu_of(cluster, DeviceId(device)) == cluster.groups[group_of(cluster, NodeId(node))].gpu);
      ++device;
    }
  }
  RC_ASSERT(device == device_count(cluster));
}

}  // namespace
}  // namespace dovetail::cluster
