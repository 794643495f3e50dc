#include "planner/space/layouts.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "cluster/cluster.h"
#include "cluster/mesh.h"

namespace dovetail::planner {
namespace {

/// Pairs of mesh and layout on nodes of eight.
std::size_t pairs_of(int nodes, const LayoutRules& rules) {
  cluster::Cluster cluster;
  cluster.groups.resize(1);
  cluster.groups[0].nodes = nodes;
  cluster.groups[0].devices_per_node = 8;
  cluster.networks.resize(1);
  std::size_t pairs = 0;
  for (const cluster::Mesh& mesh : cluster::meshes_of(cluster)) pairs += layouts_of(mesh.count, 8, rules).size();
  return pairs;
}

TEST(Layouts, AreAsManyAsReaLsSearchHas) {
  EXPECT_EQ(pairs_of(1, real_rules()), 22U);
  EXPECT_EQ(pairs_of(2, real_rules()), 58U);
  EXPECT_EQ(pairs_of(4, real_rules()), 176U);
  EXPECT_EQ(pairs_of(8, real_rules()), 620U);
  EXPECT_EQ(pairs_of(16, real_rules()), 2464U);
}

TEST(Layouts, AreAsManyAsReaLsSearchKeeps) {
  // Of 4 mini-batches (docs/facts.md#real-layouts-and-meshes): [nodes] of generation and inference, and of training.
  // There are sequences enough for all.
  const std::map<int, std::pair<std::size_t, std::size_t>> kept = {
      {1, {22, 22}}, {2, {57, 53}}, {4, {164, 136}}, {8, {520, 356}}, {16, {2095, 1183}}};
  for (const auto& [nodes, pairs] : kept) {
    EXPECT_EQ(pairs_of(nodes, real_search_rules(nodes, 1024, 0)), pairs.first) << nodes;
    EXPECT_EQ(pairs_of(nodes, real_search_rules(nodes, 1024, 4)), pairs.second) << nodes;
  }
  // With 512, data times pipeline degree is at most 64 in training: one layout less, dp8 tp1, on each of 36 meshes of
  // nine nodes or more.
  EXPECT_EQ(pairs_of(16, real_search_rules(16, 512, 4)), 1183U - 36U);
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
  for (const llm::Layout& layout : layouts_of(64, 8, {.max_stages = 4})) EXPECT_LE(layout.pipeline, 4);
}

}  // namespace
}  // namespace dovetail::planner
