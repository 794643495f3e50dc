#include "cluster/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "cluster/clusters.h"

namespace dovetail::cluster {
namespace {

using testing::ElementsAre;

TEST(MeshesOf, AreAsManyAsInReaL) {
  const auto count = [](int nodes) { return meshes_of(test::equal_nodes(nodes, 8), 4).size(); };
  EXPECT_EQ(count(1), 3U);
  EXPECT_EQ(count(2), 7U);
  EXPECT_EQ(count(4), 18U);
  EXPECT_EQ(count(8), 52U);
  EXPECT_EQ(count(16), 168U);
}

TEST(MeshesOf, AreOrderedBySize) {
  EXPECT_THAT(
      meshes_of(test::equal_nodes(2, 4)),
      ElementsAre(Mesh{0, 1}, Mesh{1, 1}, Mesh{2, 1}, Mesh{3, 1}, Mesh{4, 1}, Mesh{5, 1}, Mesh{6, 1}, Mesh{7, 1},
                  Mesh{0, 2}, Mesh{2, 2}, Mesh{4, 2}, Mesh{6, 2}, Mesh{0, 4}, Mesh{4, 4}, Mesh{0, 8}));
}

TEST(MeshesOf, SupportNodesOfAnySize) {
  // Block sizes in a node of six: powers of two 1, 2, 4 and divisors 1, 2, 3.
  EXPECT_THAT(meshes_of(test::equal_nodes(1, 6), 2),
              ElementsAre(Mesh{0, 2}, Mesh{2, 2}, Mesh{4, 2}, Mesh{0, 3}, Mesh{3, 3}, Mesh{0, 4}, Mesh{0, 6}));
  EXPECT_THAT(meshes_of(test::equal_nodes(3, 1)),
              ElementsAre(Mesh{0, 1}, Mesh{1, 1}, Mesh{2, 1}, Mesh{0, 2}, Mesh{1, 2}, Mesh{0, 3}));
}

TEST(MeshesOf, SupportUnequalNodes) {
  EXPECT_THAT(meshes_of(test::cluster_of({4, 2, 3}), 2),
              ElementsAre(Mesh{0, 2}, Mesh{2, 2}, Mesh{4, 2}, Mesh{6, 2}, Mesh{6, 3}, Mesh{0, 4}, Mesh{4, 5},
                          Mesh{0, 6}, Mesh{0, 9}));
}

TEST(MeshesOf, LeaveOutUnwantedRuns) {
  const auto from_even_nodes = [](int first_node, int) { return first_node % 2 == 0; };
  EXPECT_THAT(meshes_of(test::equal_nodes(3, 2), 2, from_even_nodes),
              ElementsAre(Mesh{0, 2}, Mesh{4, 2}, Mesh{0, 4}, Mesh{0, 6}));
  const auto none = [](int, int) { return false; };
  EXPECT_THAT(meshes_of(test::equal_nodes(3, 2), 2, none), ElementsAre(Mesh{0, 6}));
}

TEST(MeshesOf, MayBeEmpty) { EXPECT_TRUE(meshes_of(test::equal_nodes(2, 8), 17).empty()); }

TEST(Mesh, IsSoundInsideANodeOrOfWholeNodes) {
  const Cluster cluster = test::cluster_of({8, 4, 8});
  for (const Mesh mesh : {Mesh{0, 8}, Mesh{0, 20}, Mesh{8, 4}, Mesh{8, 12}, Mesh{1, 2}, Mesh{3, 5}, Mesh{9, 1}})
    EXPECT_TRUE(is_sound(cluster, mesh));
  for (const Mesh mesh : {Mesh{0, 0}, Mesh{-1, 2}, Mesh{7, 2}, Mesh{0, 10}, Mesh{0, 21}, Mesh{20, 1}, Mesh{4, 8},
                          Mesh{2'000'000'000, 2'000'000'000}}) {
    EXPECT_FALSE(is_sound(cluster, mesh)) << mesh.first << " " << mesh.count;
  }
}

TEST(Mesh, IsUsableWithAPartOfTheNodeBeforeOrAfter) {
  const Cluster cluster = test::cluster_of({8, 4, 8});
  for (const Mesh mesh : {Mesh{0, 8}, Mesh{1, 2}, Mesh{0, 10}, Mesh{0, 13}, Mesh{4, 8}, Mesh{7, 13}, Mesh{8, 5}})
    EXPECT_TRUE(is_usable(cluster, mesh)) << mesh.first << " " << mesh.count;
  for (const Mesh mesh : {Mesh{0, 0}, Mesh{-1, 2}, Mesh{7, 2}, Mesh{4, 12}, Mesh{0, 21}, Mesh{20, 1}})
    EXPECT_FALSE(is_usable(cluster, mesh)) << mesh.first << " " << mesh.count;
}

TEST(Mesh, OverlapsIfADeviceIsShared) {
  EXPECT_TRUE(overlap({0, 4}, {3, 2}));
  EXPECT_TRUE(overlap({0, 8}, {2, 2}));
  EXPECT_FALSE(overlap({0, 4}, {4, 4}));
  EXPECT_FALSE(overlap({4, 4}, {0, 4}));
  EXPECT_EQ(hull_of({0, 2}, {6, 2}), (Mesh{0, 8}));
  EXPECT_EQ(hull_of({0, 8}, {2, 2}), (Mesh{0, 8}));
}

TEST(Mesh, HasAName) {
  const Cluster cluster = test::equal_nodes(4, 8);
  EXPECT_EQ(name_of(cluster, {0, 8}), "0-7");
  EXPECT_EQ(name_of(cluster, {8, 16}), "8-23");
  EXPECT_EQ(name_of(cluster, {28, 4}), "4-7 of node 3");
  EXPECT_EQ(name_of(cluster, {29, 1}), "5 of node 3");
  EXPECT_EQ(name_of(cluster, {6, 4}), "6-9") << "not sound, but it has a name";
  EXPECT_EQ(name_of(test::equal_nodes(3, 1), {2, 1}), "2");
}

TEST(Mesh, HasNodesAndALevel) {
  const Cluster cluster = test::with_racks(test::equal_nodes(8, 8), 4);
  EXPECT_EQ(nodes_of(cluster, {28, 4}), 1);
  EXPECT_EQ(nodes_of(cluster, {8, 24}), 3);
  EXPECT_EQ(level_of(cluster, {28, 4}), 0);
  EXPECT_EQ(level_of(cluster, {8, 24}), 1);
  EXPECT_EQ(level_of(cluster, {24, 16}), 2);
}

TEST(ShapeOf, IsTheSameAfterTranslation) {
  const Cluster cluster = test::equal_nodes(4, 8);
  const MeshShape two_nodes = shape_of(cluster, {0, 16});
  EXPECT_THAT(two_nodes.parts, ElementsAre(MeshPart{2, 8, 0}));
  EXPECT_EQ(two_nodes.level, 1);
  EXPECT_EQ(shape_of(cluster, {16, 16}), two_nodes);
  EXPECT_NE(shape_of(cluster, {0, 24}), two_nodes);
  EXPECT_EQ(shape_of(cluster, {4, 4}), shape_of(cluster, {24, 4}));
  EXPECT_NE(shape_of(cluster, {4, 4}), shape_of(cluster, {4, 2}));
}

TEST(ShapeOf, DistinguishesRacks) {
  const Cluster cluster = test::with_racks(test::equal_nodes(8, 8), 4);
  EXPECT_EQ(shape_of(cluster, {0, 16}), shape_of(cluster, {32, 16}));
  EXPECT_NE(shape_of(cluster, {0, 16}), shape_of(cluster, {24, 16}));
}

TEST(ShapeOf, DistinguishesUnequalNodes) {
  const Cluster cluster = test::cluster_of({8, 4, 8, 4});
  EXPECT_THAT(shape_of(cluster, {0, 20}).parts, ElementsAre(MeshPart{1, 8, 0}, MeshPart{1, 4, 1}, MeshPart{1, 8, 0}));
  EXPECT_EQ(shape_of(cluster, {0, 12}), shape_of(cluster, {12, 12}))
      << "the same kinds of node, though in other groups";
  EXPECT_NE(shape_of(cluster, {0, 12}), shape_of(cluster, {8, 12})) << "another order";
  EXPECT_NE(shape_of(cluster, {0, 4}), shape_of(cluster, {8, 4}))
      << "a part of a node of 8 and a node of 4 have different groups";
}

RC_GTEST_PROP(MeshesOf, AreValidDistinctAndCoverEveryNode, ()) {
  const Cluster cluster = test::random_cluster();
  const int least = *rc::gen::inRange(1, 10);
  const std::vector<Mesh> meshes = meshes_of(cluster, least);
  const std::set<Mesh> distinct(meshes.begin(), meshes.end());
  RC_ASSERT(distinct.size() == meshes.size());
  std::set<std::string> names;
  for (const Mesh& mesh : meshes) {
    RC_ASSERT(mesh.count >= least);
    RC_ASSERT(is_sound(cluster, mesh));
    int devices = 0;
    int nodes = 0;
    for (const MeshPart& part : shape_of(cluster, mesh).parts) {
      devices += part.nodes * part.devices_per_node;
      nodes += part.nodes;
    }
    RC_ASSERT(devices == mesh.count);
    RC_ASSERT(nodes == nodes_of(cluster, mesh));
    RC_ASSERT(names.insert(name_of(cluster, mesh)).second);
  }
  for (int node = 0; node < node_count(cluster); ++node) {
    const Mesh mesh = {first_device(cluster, NodeId(node)).value, devices_of(cluster, NodeId(node))};
    RC_ASSERT(distinct.count(mesh) == (mesh.count >= least ? 1U : 0U));
  }
}

}  // namespace
}  // namespace dovetail::cluster
