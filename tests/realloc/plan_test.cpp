// Plans compared with an element-by-element simulation, and with the minimum bytes of an exhaustive search.
#include "realloc/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "llm/bundled_models.h"
#include "llm/counts.h"
#include "realloc/cost.h"
#include "realloc/oracle.h"
#include "realloc/random_sides.h"

namespace dovetail::realloc {
namespace {

using test::cluster_of;
using test::layout_of;
using test::side_of;

llm::Transformer model_named(const char* name) { return llm::find_bundled_model(name).value(); }

/// Shares and buckets that are small enough to cut small models.
PlanOptions small_options() {
  PlanOptions options;
  options.min_share = *rc::gen::element<std::int64_t>(1, 64, 4096);
  options.bucket = *rc::gen::element<std::int64_t>(1, 100, 10'000);
  options.element_bytes = *rc::gen::element(1, 2);
  options.rounds = *rc::gen::element(0, 3);
  return options;
}

RC_GTEST_PROP(Reallocation, BringsEachMissingElementToEachRankOnce, ()) {
  const test::Case made = test::random_case(24);
  const int devices = cluster::device_count(made.cluster);
  const Plan plan = plan_reallocation(made.cluster, made.source, made.destination, small_options());
  std::vector<test::Weights> weights = test::held_in_common(made.source, made.destination, devices);
  // Values of both models agree, because everything before the head is equal.
  const auto wanted = test::held_in_common(made.destination, made.source, devices);
  RC_ASSERT(test::apply(transfers_of(plan), made.destination.model, weights) == "");
  RC_ASSERT(test::has_all(weights, wanted));
}

RC_GTEST_PROP(Reallocation, SendsOnlyNeededElements, ()) {
  const test::Case made = test::random_case(24);
  const int devices = cluster::device_count(made.cluster);
  if (devices > 64) return;
  const PlanOptions options = small_options();
  const Summary summary = summarize(plan_reallocation(made.cluster, made.source, made.destination, options));
  std::int64_t lacking = 0;
  for (const auto& [places, count] : test::count_elements(test::held_in_common(made.source, made.destination, devices),
                                                          test::held_in_common(made.destination, made.source, devices)))
    lacking += count * std::popcount(places.needers & ~places.holders);
  RC_ASSERT(summary.bytes == lacking * options.element_bytes);
}

RC_GTEST_PROP(Reallocation, RoundTripRestoresTheSource, ()) {
  test::Case made = test::random_case(16);
  made.destination.model = made.source.model;
  if (llm::find_fault(made.destination.layout, made.destination.model)) return;
  const int devices = cluster::device_count(made.cluster);
  const auto before = test::held_by(made.source, devices);
  std::vector<test::Weights> weights = before;
  RC_ASSERT(test::apply(transfers_of(plan_reallocation(made.cluster, made.source, made.destination)), made.source.model,
                        weights) == "");
  // Devices drop data outside the destination.
  std::vector<test::Weights> there = test::held_by(made.destination, devices);
  RC_ASSERT(test::has_all(weights, there));
  RC_ASSERT(test::apply(transfers_of(plan_reallocation(made.cluster, made.destination, made.source)), made.source.model,
                        there) == "");
  RC_ASSERT(test::has_all(there, before));
}

/// [device] traffic according to the transfers, without messages and buffers.
std::vector<DeviceTraffic> count_traffic(const Plan& plan, const std::vector<Transfer>& transfers) {
  std::vector<DeviceTraffic> traffic(plan.node_of.size());
  for (const Transfer& transfer : transfers) {
    DeviceTraffic& from = traffic[transfer.from.index()];
    DeviceTraffic& to = traffic[transfer.to.index()];
    const bool inside = plan.node_of[transfer.from.index()] == plan.node_of[transfer.to.index()];
    const std::int64_t bytes = transfer.slice.elements() * plan.options.element_bytes;
    (inside ? from.sent_inside : from.sent_between) += bytes;
    (inside ? to.received_inside : to.received_between) += bytes;
    ++from.blocks;
    ++to.blocks;
  }
  return traffic;
}

RC_GTEST_PROP(Reallocation, TrafficAgreesWithTheTransfers, ()) {
  const test::Case made = test::random_case(24);
  const Plan plan = plan_reallocation(made.cluster, made.source, made.destination, small_options());
  const std::vector<DeviceTraffic> expected = count_traffic(plan, transfers_of(plan));
  const std::vector<DeviceTraffic> traffic = traffic_of(plan);
  RC_ASSERT(traffic.size() == expected.size());
  for (std::size_t device = 0; device < traffic.size(); ++device) {
    RC_ASSERT(plan.node_of[device] == cluster::node_of(made.cluster, DeviceId(device)).value);
    RC_ASSERT(traffic[device].sent_inside == expected[device].sent_inside);
    RC_ASSERT(traffic[device].sent_between == expected[device].sent_between);
    RC_ASSERT(traffic[device].received_inside == expected[device].received_inside);
    RC_ASSERT(traffic[device].received_between == expected[device].received_between);
    RC_ASSERT(traffic[device].blocks == expected[device].blocks);
  }
}

RC_GTEST_PROP(Reallocation, SummaryAgreesWithTheTransfers, ()) {
  const test::Case made = test::random_case(24);
  const Plan plan = plan_reallocation(made.cluster, made.source, made.destination, small_options());
  const PlanOptions& options = plan.options;
  const std::vector<Transfer> transfers = transfers_of(plan);
  const std::vector<DeviceTraffic> traffic = count_traffic(plan, transfers);
  std::map<std::pair<DeviceId, DeviceId>, std::int64_t> pairs;
  std::map<int, std::int64_t> sent_by_node;
  std::map<int, std::int64_t> received_by_node;
  Summary expected;
  for (const Transfer& transfer : transfers)
    pairs[{transfer.from, transfer.to}] += transfer.slice.elements() * options.element_bytes;
  for (const auto& [pair, bytes] : pairs) expected.messages += (bytes + options.bucket - 1) / options.bucket;
  for (std::size_t device = 0; device < traffic.size(); ++device) {
    expected.bytes += traffic[device].sent();
    expected.bytes_between += traffic[device].received_between;
    expected.max_sent = std::max(expected.max_sent, traffic[device].sent());
    expected.max_received = std::max(expected.max_received, traffic[device].received());
    const int node = plan.node_of[device];
    expected.max_sent_by_node = std::max(expected.max_sent_by_node, sent_by_node[node] += traffic[device].sent_between);
    expected.max_received_by_node =
        std::max(expected.max_received_by_node, received_by_node[node] += traffic[device].received_between);
  }
  const Summary summary = summarize(plan);
  RC_ASSERT(summary.bytes == expected.bytes);
  RC_ASSERT(summary.bytes_between == expected.bytes_between);
  RC_ASSERT(summary.max_sent == expected.max_sent);
  RC_ASSERT(summary.max_received == expected.max_received);
  RC_ASSERT(summary.max_sent_by_node == expected.max_sent_by_node);
  RC_ASSERT(summary.max_received_by_node == expected.max_received_by_node);
  RC_ASSERT(summary.messages == expected.messages);
  RC_ASSERT(summary.transfers == static_cast<std::int64_t>(transfers.size()));
  RC_ASSERT(summary.transient >= summary.max_received);
  RC_ASSERT(summary.transient <= summary.max_received + 2 * options.bucket);
}

/// The maximum bytes that a device sends or receives between nodes.
std::int64_t max_between(const Plan& plan) {
  std::int64_t most = 0;
  for (const DeviceTraffic& traffic : traffic_of(plan))
    most = std::max({most, traffic.sent_between, traffic.received_between});
  return most;
}

RC_GTEST_PROP(Reallocation, RoundsNeverMakeItWorse, ()) {
  const test::Case made = test::random_case(24);
  PlanOptions options = small_options();
  options.rounds = 0;
  const Plan first = plan_reallocation(made.cluster, made.source, made.destination, options);
  options.rounds = 5;
  const Plan improved = plan_reallocation(made.cluster, made.source, made.destination, options);
  RC_ASSERT(max_between(improved) <= max_between(first));
  RC_ASSERT(summarize(improved).bytes == summarize(first).bytes);
  RC_ASSERT(summarize(improved).bytes_between == summarize(first).bytes_between);
}

/// The minimum number of hops between nodes that bring an element from `holders` to all of `needers`, if any device may
/// forward it. Breadth-first search over the sets of devices that have it; hops inside a node are free.
int min_crossings(const test::ElementPlaces& places, const std::vector<int>& node_of) {
  std::map<std::uint64_t, int> best{{places.holders, 0}};
  std::deque<std::pair<std::uint64_t, int>> open{{places.holders, 0}};
  while (!open.empty()) {
    const auto [have, crossings] = open.front();
    open.pop_front();
    if (best[have] < crossings) continue;
    if ((places.needers & ~have) == 0) return crossings;
    for (std::size_t from = 0; from < node_of.size(); ++from)
      for (std::size_t to = 0; to < node_of.size(); ++to) {
        if ((have >> from & 1) == 0 || (have >> to & 1) == 1) continue;
        const int more = node_of[from] == node_of[to] ? 0 : 1;
        const std::uint64_t then = have | std::uint64_t{1} << to;
        const auto [entry, is_new] = best.try_emplace(then, crossings + more);
        if (!is_new && entry->second <= crossings + more) continue;
        entry->second = crossings + more;
        if (more == 0) open.emplace_front(then, crossings);
        if (more == 1) open.emplace_back(then, crossings + 1);
      }
  }
  return -1;
}

RC_GTEST_PROP(Reallocation, BytesBetweenNodesAreMinimal, ()) {
  const test::Case made = test::random_case(4);
  const int devices = cluster::device_count(made.cluster);
  if (devices > 8) return;
  const PlanOptions options = small_options();
  const Plan plan = plan_reallocation(made.cluster, made.source, made.destination, options);
  std::int64_t crossings = 0;
  for (const auto& [places, count] : test::count_elements(test::held_in_common(made.source, made.destination, devices),
                                                          test::held_in_common(made.destination, made.source, devices)))
    crossings += count * min_crossings(places, plan.node_of);
  RC_ASSERT(summarize(plan).bytes_between == crossings * options.element_bytes);
  RC_ASSERT(min_bytes_between(plan) == crossings * options.element_bytes);
}

RC_GTEST_PROP(Reallocation, SameMeshAndLayoutMoveNothing, ()) {
  const test::Case made = test::random_case(24);
  const Plan plan = plan_reallocation(made.cluster, made.source, made.source);
  RC_ASSERT(plan.bundles.empty());
  RC_ASSERT(summarize(plan).bytes == 0);
  RC_ASSERT(summarize(plan).transient == 0);
}

TEST(Reallocation, ACopyOnAnotherNodeMovesTheModelOnce) {
  // 8 replicas on the second node: the model enters it once, an eighth at each device, and then spreads inside.
  const llm::Transformer model = model_named("llama-2-7b");
  const Side source = side_of(model, layout_of(1, 8, 1), 0);
  const Side destination = side_of(model, layout_of(8, 1, 1), 8);
  const Summary summary = summarize(plan_reallocation(cluster_of(2, 8), source, destination));
  const std::int64_t bytes = 2 * llm::count_parameters(model).all;
  EXPECT_EQ(summary.bytes, 8 * bytes);
  EXPECT_EQ(summary.bytes_between, bytes);
  EXPECT_LT(static_cast<double>(summary.max_sent), 1.02 * static_cast<double>(bytes));
}

TEST(Reallocation, ATiedHeadComesFromTheNearerCopy) {
  // The destination's last stage is on the node that has the embedding only as the head of the source's last stage.
  const llm::Transformer model = model_named("qwen3-0.6b");
  const Side source = side_of(model, layout_of(1, 1, 2), 0);
  const Side destination = side_of(model, layout_of(1, 1, 1), 1);
  const Summary summary = summarize(plan_reallocation(cluster_of(2, 1), source, destination));
  const llm::ParameterCounts counts = llm::count_parameters(model);
  EXPECT_EQ(summary.bytes, 2 * 14 * counts.dense_layer);
}

TEST(Reallocation, ACriticKeepsItsOwnHead) {
  const llm::Transformer model = model_named("llama-2-7b");
  const llm::Transformer critic = llm::with_scalar_head(model);
  const llm::ParameterCounts counts = llm::count_parameters(model);
  const std::int64_t common = counts.all - counts.head + model.hidden;  // both models have the last norm
  for (const auto& [from, to] : {std::pair(model, critic), std::pair(critic, model)}) {
    const Plan plan = plan_reallocation(cluster_of(2, 1), side_of(from, {}, 0), side_of(to, {}, 1));
    EXPECT_EQ(summarize(plan).bytes, 2 * common);
  }
}

TEST(Reallocation, OnlyAdaptersMoveIfOnlyTheyAreTrained) {
  llm::Transformer model = model_named("llama-2-7b");
  model.adapter_rank = 16;
  PlanOptions options;
  options.trained_only = true;
  const Plan plan = plan_reallocation(cluster_of(2, 1), side_of(model, {}, 0), side_of(model, {}, 1), options);
  EXPECT_EQ(summarize(plan).bytes, 2 * llm::count_parameters(model).adapters);
}

TEST(Reallocation, AFullyShardedSourceSendsEachPartFromItsOwner) {
  llm::Layout sharded = layout_of(8, 1, 1);
  sharded.zero = 3;
  const llm::Transformer model = model_named("llama-2-7b");
  const Plan plan =
      plan_reallocation(cluster_of(1, 8), side_of(model, sharded, 0), side_of(model, layout_of(8, 1, 1), 0));
  const std::int64_t bytes = 2 * llm::count_parameters(model).all;
  EXPECT_EQ(summarize(plan).bytes, 7 * bytes);
  EXPECT_EQ(summarize(plan).max_received, bytes * 7 / 8);
}

TEST(Reallocation, ShardGroupsAreCopiesOfEachOther) {
  llm::Layout sharded = layout_of(8, 1, 1);
  sharded.zero = 3;
  const llm::Transformer model = model_named("llama-2-7b");
  Side source = side_of(model, sharded, 0);
  const Side destination = side_of(model, layout_of(8, 1, 1), 0);
  const std::int64_t bytes = 2 * llm::count_parameters(model).all;
  EXPECT_GT(summarize(plan_reallocation(cluster_of(2, 4), source, destination)).bytes_between, 0);
  source.shard_group = 4;
  const Summary summary = summarize(plan_reallocation(cluster_of(2, 4), source, destination));
  EXPECT_EQ(summary.bytes, 6 * bytes);
  EXPECT_EQ(summary.bytes_between, 0) << "each node has all weights";
}

TEST(Reallocation, ReportsFaults) {
  const llm::Transformer model = model_named("llama-2-7b");
  const cluster::Cluster cluster = cluster_of(1, 8);
  const Side whole = side_of(model, {}, 0);
  const auto fault = [&](const Side& destination) { return find_fault(cluster, whole, destination).value_or("none"); };
  EXPECT_EQ(fault(side_of(llm::with_scalar_head(model), layout_of(2, 2, 2), 0)), "none");
  EXPECT_THAT(fault(side_of(model_named("llama-2-13b"), {}, 0)),
              testing::HasSubstr("llama-2-7b and llama-2-13b have different weights"));
  EXPECT_THAT(fault(side_of(model, layout_of(2, 2, 2), 1)),
              testing::HasSubstr("devices 1 to 8 are not all in the cluster; accepted: 0 to 7"));
  EXPECT_THAT(fault(side_of(model, layout_of(1, 3, 1), 0)), testing::HasSubstr("32 heads"));
  EXPECT_THAT(fault({model, layout_of(2, 1, 1), {0, 4}}),
              testing::HasSubstr("dp2 tp1 pp1 uses 2 devices, but its mesh has 4; accepted: a layout"));
  llm::Transformer tied = model;
  tied.tied_embeddings = true;
  EXPECT_THAT(fault(side_of(tied, {}, 0)), testing::HasSubstr("tied"));
}

/// Milliseconds to plan and to summarize, the fastest of several runs.
double milliseconds(const cluster::Cluster& cluster, const Side& source, const Side& destination) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const Plan plan = plan_reallocation(cluster, source, destination);
    EXPECT_GT(summarize(plan).bytes, 0);
    best = std::min(best, 1e3 * base::seconds_since(begin));
  }
  return best;
}

TEST(Reallocation, IsPlannedInMilliseconds) {
  // Bounds are lenient for slow machines and sanitizers. The measured times are properties of the test
  // (--gtest_output=xml).
  const cluster::Cluster cluster = cluster_of(16, 8);
  const llm::Transformer dense = model_named("llama-2-70b");
  llm::Layout sharded = layout_of(16, 8, 1);
  sharded.zero = 3;
  llm::Layout expert = layout_of(16, 1, 8);
  expert.expert = 16;
  llm::Layout wide = layout_of(128, 1, 1);
  wide.expert = 128;
  const struct {
    const char* name;
    llm::Transformer model;
    llm::Layout from;
    llm::Layout to;
  } cases[] = {{"tp8 pp4 to tp8", dense, layout_of(4, 8, 4), layout_of(16, 8, 1)},
               {"tp8 pp8 to tp4 pp2", dense, layout_of(2, 8, 8), layout_of(16, 4, 2)},
               {"tp8 pp16 to dp128", dense, layout_of(1, 8, 16), layout_of(128, 1, 1)},
               {"zero 3 to tp4", dense, sharded, layout_of(32, 4, 1)},
               {"deepseek-v3 ep16 pp8 to ep128", model_named("deepseek-v3"), expert, wide}};
  for (const auto& each : cases) {
    const double taken = milliseconds(cluster, side_of(each.model, each.from, 0), side_of(each.model, each.to, 0));
    RecordProperty(each.name, std::to_string(taken));
    EXPECT_LT(taken, 1000);
  }
}

}  // namespace
}  // namespace dovetail::realloc
