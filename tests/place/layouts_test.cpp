#include "place/layouts.h"

#include <gtest/gtest.h>

#include "cluster/cluster.h"
#include "cluster/mesh.h"

namespace dovetail::place {
namespace {

/// Pairs of mesh and layout on nodes of eight, by ReaL's rules: meshes of four devices or more.
std::size_t pairs_of(int nodes) {
  cluster::Cluster cluster;
  cluster.groups.resize(1);
  cluster.groups[0].nodes = nodes;
  cluster.groups[0].devices_per_node = 8;
  cluster.networks.resize(1);
  std::size_t pairs = 0;
  for (const cluster::Mesh& mesh : cluster::meshes_of(cluster, 4)) pairs += layouts_of(mesh.count, 8, real_rules()).size();
  return pairs;
}

TEST(Layouts, AreAsManyAsReaLsSearchHas) {
  EXPECT_EQ(pairs_of(1), 22U);
  EXPECT_EQ(pairs_of(2), 58U);
  EXPECT_EQ(pairs_of(4), 176U);
  EXPECT_EQ(pairs_of(8), 620U);
  EXPECT_EQ(pairs_of(16), 2464U);
}

TEST(Layouts, MakeUpTheMesh) {
  for (const int devices : {1, 6, 8, 24, 96}) {
    for (const llm::Layout& layout : layouts_of(devices, devices < 8 ? devices : 8, {})) {
      EXPECT_EQ(layout.devices(), devices);
      EXPECT_LE(layout.tensor, 8);
    }
  }
}

TEST(Layouts, KeepTensorParallelGroupsInsideNodesOfAnySize) {
  for (const llm::Layout& layout : layouts_of(12, 6, {.powers_of_two = false})) EXPECT_EQ(6 % layout.tensor, 0);
  EXPECT_EQ(layouts_of(6, 6, {.powers_of_two = false}).size(), 4U + 2U + 2U + 1U);
}

TEST(Layouts, HaveNoMoreStagesThanAsked) {
  for (const llm::Layout& layout : layouts_of(64, 8, {.most_stages = 4})) EXPECT_LE(layout.pipeline, 4);
}

}  // namespace
}  // namespace dovetail::place
