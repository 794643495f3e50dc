#include "cost/machine.h"

#include <gtest/gtest.h>

#include "clusters.h"

namespace dovetail::cost {
namespace {

void expect_group(cluster::RankGroup group, int ranks, int ranks_per_node) {
  EXPECT_EQ(group.ranks, ranks);
  EXPECT_EQ(group.ranks_per_node, ranks_per_node);
}

TEST(Machine, GroupsOnNodesOfEight) {
  expect_group(group_of(8, 1, 8), 8, 8);
  expect_group(group_of(16, 1, 8), 16, 8);
  expect_group(group_of(4, 2, 8), 4, 4);
  expect_group(group_of(8, 4, 8), 8, 2);
  expect_group(group_of(4, 8, 8), 4, 1);
  expect_group(group_of(4, 32, 8), 4, 1);
}

TEST(Machine, GroupsNumberTensorRanksFirst) {
  llm::Layout layout = test::layout_of(4, 2, 2);
  layout.context = 2;
  layout.expert = 8;
  const Machine machine = test::h100_machine(4);
  expect_group(tensor_group(layout, machine), 2, 2);
  expect_group(context_group(layout, machine), 2, 2);
  expect_group(data_group(layout, machine), 8, 4);
  expect_group(expert_group(layout, machine), 8, 8);
}

TEST(Machine, StagesThatFillANodeSendOverTheNetwork) {
  const Machine machine = test::h100_machine(2);
  EXPECT_EQ(next_stage_seconds(test::layout_of(1, 8, 2), machine, 1e6),
            cluster::send_seconds(machine.links.between, 1e6));
  EXPECT_EQ(next_stage_seconds(test::layout_of(1, 4, 4), machine, 1e6),
            cluster::send_seconds(machine.links.inside, 1e6));
}

TEST(Machine, UnequalNodesHaveTheSlowestFigures) {
  cluster::Cluster cluster = test::h100_nodes(1);
  cluster.groups.push_back({1, 8, cluster::find_gpu("A100-40").value(), 0});
  cluster.groups.push_back({1, 8, cluster::find_gpu("H20").value(), 0});
  const Machine machine = machine_of(cluster, {0, 24}, {});
  EXPECT_EQ(peak_flops(machine.gpu), 148e12) << "of the H20";
  EXPECT_EQ(machine.gpu.memory_bandwidth, 1555e9) << "of the A100";
  EXPECT_EQ(machine.gpu.host_bandwidth, 32e9) << "of the A100";
  EXPECT_EQ(machine.gpu.usable_memory, cluster::find_gpu("A100-40").value().usable_memory);
}

TEST(Machine, HostTransfersReachTheirFractionOfTheLink) {
  Efficiency efficiency;
  efficiency.host_bandwidth = 0.5;
  EXPECT_DOUBLE_EQ(host_seconds(test::h100_machine(1), 64e9, efficiency), 2.0);
}

}  // namespace
}  // namespace dovetail::cost
