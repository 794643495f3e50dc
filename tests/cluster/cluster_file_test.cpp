#include "cluster/cluster_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace dovetail::cluster {
namespace {

base::Result<Cluster> read(const std::string& content) {
  const base::Result<base::Document> document = base::parse_yaml(content, "job.yaml");
  if (!document.ok()) return document.error();
  const base::Result<base::Node> node = base::require(document->root(), "the job", "cluster");
  if (!node.ok()) return node.error();
  return read_cluster(*node);
}

std::string error_of(const std::string& content) {
  const base::Result<Cluster> cluster = read(content);
  return cluster.ok() ? "no error" : base::to_text(cluster.error());
}

/// The error in a cluster of H100 nodes with this additional line, which is its fourth.
std::string line_error(const std::string& line) {
  return error_of("cluster:\n  nodes: 4\n  gpus_per_node: 8\n  " + line + "\n  gpu: H100\n");
}
/// The error in this value of `gpu`.
std::string gpu_error(const std::string& gpu) {
  return error_of("cluster: {nodes: 1, gpus_per_node: 8, gpu: " + gpu + "}");
}

const std::string bundled = fmt::format("{}", fmt::join(gpu_names(), ", "));
const std::string bandwidths =
    "accepted: a bandwidth such as `50GB/s`, `46.5GiB/s`, `400Gb/s` (bits) or a number of bytes/s";
const std::string memories = "accepted: an amount of memory such as `80GiB`, `2TB` or a number of bytes";

TEST(ReadCluster, ReadsEveryKey) {
  const Cluster cluster = read(R"(
cluster:
  nodes: 32
  gpus_per_node: 8
  gpu: H100
  host_memory: 1TiB
  network: {bandwidth: 200Gb/s, latency: 8us, half_bandwidth_size: 2MB}
  price: 2.5
)")
                              .value();
  ASSERT_EQ(cluster.groups.size(), 1U);
  EXPECT_EQ(cluster.groups[0], (NodeGroup{32, 8, find_gpu("H100").value(), std::int64_t{1} << 40}));
  ASSERT_EQ(cluster.networks.size(), 1U);
  EXPECT_EQ(cluster.networks[0], (NetworkLevel{"network", 0, 25e9, 8e-6, 2e6}));
  EXPECT_EQ(cluster.price, 2.5);
}

TEST(ReadCluster, FillsInDefaults) {
  const Cluster cluster = read("cluster: {nodes: 2, gpus_per_node: 4, gpu: a100}").value();
  EXPECT_EQ(cluster.groups[0].gpu.name, "A100-80");
  EXPECT_EQ(cluster.groups[0].host_memory, 2'000'000'000'000);
  EXPECT_EQ(cluster.networks[0], (NetworkLevel{"network", 0, 25e9, 5e-6, std::nullopt}));
  EXPECT_EQ(cluster.price, std::nullopt);
  EXPECT_EQ(read("cluster: {nodes: 2, gpus_per_node: 4, gpu: H100}")->networks[0].bandwidth, 50e9);
  EXPECT_EQ(read("cluster: {nodes: 2, gpus_per_node: 4, gpu: 4090}")->networks[0].bandwidth, 12.5e9);
  EXPECT_EQ(read("cluster: {nodes: 2, gpus_per_node: 4, gpu: H100, network: {latency: 0}}")->networks[0],
            (NetworkLevel{"network", 0, 50e9, 0, std::nullopt}));
}

TEST(ReadCluster, ReadsJson) {
  EXPECT_EQ(device_count(*read(R"({"cluster": {"nodes": 2, "gpus_per_node": 4, "gpu": "H100"}})")), 8);
}

TEST(ReadCluster, ReadsUnequalNodes) {
  const Cluster cluster = read(R"(
cluster:
  groups:
    - {nodes: 2, gpus_per_node: 8, gpu: H100, host_memory: 1TB}
    - {nodes: 4, gpus_per_node: 4, gpu: A100-40}
)")
                              .value();
  EXPECT_EQ(device_count(cluster), 32);
  EXPECT_EQ(cluster.groups[0].host_memory, 1'000'000'000'000);
  EXPECT_EQ(cluster.groups[1].host_memory, 2'000'000'000'000);
  EXPECT_EQ(cluster.groups[1].gpu.name, "A100-40");
  EXPECT_EQ(cluster.networks[0].bandwidth, 25e9) << "the slower of the two networks";
}

TEST(ReadCluster, ReadsSeveralNetworks) {
  const Cluster cluster = read(R"(
cluster:
  nodes: 64
  gpus_per_node: 8
  gpu: H100
  networks:
    - {name: rack, nodes: 8, latency: 3us}
    - {name: pod, nodes: 24, bandwidth: 40GB/s}
    - {name: spine, bandwidth: 25GB/s, latency: 8us, half_bandwidth_size: 4MiB}
)")
                              .value();
  ASSERT_EQ(cluster.networks.size(), 3U);
  EXPECT_EQ(cluster.networks[0], (NetworkLevel{"rack", 8, 50e9, 3e-6, std::nullopt}));
  EXPECT_EQ(cluster.networks[1], (NetworkLevel{"pod", 24, 40e9, 5e-6, std::nullopt}));
  EXPECT_EQ(cluster.networks[2], (NetworkLevel{"spine", 0, 25e9, 8e-6, 4194304.0}));
}

TEST(ReadCluster, ReadsSpecificationsOfAGpu) {
  const Gpu gpu = read(R"(
cluster:
  nodes: 1
  gpus_per_node: 8
  gpu: {name: X, memory: 80GiB, usable_memory: 78GiB, bandwidth: 3.35TB/s, bf16: 989TFLOP/s, fp16: 900TFLOP/s, fp8: 1979TFLOP/s,
        link: 450GB/s, host_link: 55GB/s}
)")
                      ->groups[0]
                      .gpu;
  EXPECT_EQ(gpu, (Gpu{"X", std::int64_t{80} << 30, std::int64_t{78} << 30, 3.35e12, 989e12, 900e12, 1979e12, 450e9,
                      55e9, 25e9}));
}

TEST(ReadCluster, FillsInSpecificationsOfAGpu) {
  const auto gpu_of = [](const std::string& figures) {
    return read("cluster: {nodes: 1, gpus_per_node: 8, gpu: {name: X, memory: 10GiB, bandwidth: 1TB/s, " + figures +
                "}}")
        ->groups[0]
        .gpu;
  };
  const Gpu gpu = gpu_of("bf16: 100TFLOP/s");
  EXPECT_EQ(gpu.usable_memory, usable_of(std::int64_t{10} << 30));
  EXPECT_EQ(gpu.fp16, 100e12);
  EXPECT_EQ(gpu.fp8, 0);
  EXPECT_EQ(gpu.link_bandwidth, 32e9);
  EXPECT_EQ(gpu.host_bandwidth, 32e9);
  EXPECT_EQ(gpu_of("fp16: 1TFLOP/s, host_link: 16GB/s").bf16, 0);
  EXPECT_EQ(gpu_of("fp16: 1TFLOP/s, host_link: 16GB/s").link_bandwidth, 16e9);
}

TEST(ReadCluster, ReportsMistakesInNodes) {
  EXPECT_EQ(error_of("cluster: 8"),
            "job.yaml:1:10: `cluster` must be a map, not 8; accepted keys: nodes, gpus_per_node, gpu, host_memory, "
            "groups, network, networks, "
            "price");
  EXPECT_EQ(line_error("node: 4"),
            "job.yaml:4:3: unknown key `node` in `cluster`; did you mean `nodes`? accepted: nodes, gpus_per_node, gpu, "
            "host_memory, groups, "
            "network, networks, price");
  EXPECT_EQ(line_error("nodes: 4"), "job.yaml:4:3: duplicate key `nodes`; each key may appear only once");
  EXPECT_EQ(error_of("cluster: {gpus_per_node: 8}"),
            "job.yaml:1:10: `cluster` needs the key `nodes`; accepted: `nodes: 4`");
  EXPECT_EQ(error_of("cluster: {nodes: 8}"),
            "job.yaml:1:10: `cluster` needs the key `gpus_per_node`; accepted: `gpus_per_node: 8`");
  EXPECT_EQ(error_of("cluster: {nodes: 8, gpus_per_node: 8}"),
            "job.yaml:1:10: `cluster` needs the key `gpu`; accepted: `gpu: H100`");
  EXPECT_EQ(error_of("cluster: {nodes: 0, gpus_per_node: 8}"),
            "job.yaml:1:18: `nodes` of `cluster` must be an integer from 1 to 65536, not 0");
  EXPECT_EQ(error_of("cluster: {nodes: 1, gpus_per_node: 2.5}"),
            "job.yaml:1:36: `gpus_per_node` of `cluster` must be an integer from 1 to 65536, not 2.5");
  EXPECT_EQ(error_of("cluster: {nodes: 8193, gpus_per_node: 8}"),
            "job.yaml:1:18: 8193 nodes of 8 GPUs are too many; accepted: at most 65536 GPUs in a cluster");
  EXPECT_EQ(line_error("host_memory: lots"),
            "job.yaml:4:16: `host_memory` of `cluster`: the string `lots` is not an amount; " + memories);
  EXPECT_EQ(line_error("host_memory: -1TB"),
            "job.yaml:4:16: `host_memory` of `cluster`: the string `-1TB` is negative; " + memories);
  EXPECT_EQ(line_error("host_memory: 0"), "no error");
  EXPECT_EQ(line_error("price: -1"),
            "job.yaml:4:10: `price` of `cluster`: -1 is negative; accepted: a non-negative number");
  EXPECT_EQ(line_error("price: 2.5 EUR"),
            "job.yaml:4:10: `price` of `cluster`: the string `2.5 EUR` has the unknown unit `EUR`; accepted: a "
            "non-negative number");
}

TEST(ReadCluster, ReportsMistakesInGroups) {
  const auto group_error = [](const std::string& groups) { return error_of("cluster:\n  groups: " + groups + "\n"); };
  EXPECT_EQ(line_error("groups: []"),
            "job.yaml:4:11: `cluster` has both `nodes` and `groups`; accepted: `groups` with `nodes` in each, or one "
            "kind of node without `groups`");
  EXPECT_EQ(
      group_error("[]"),
      "job.yaml:2:11: `groups` is an empty list; accepted: a list of maps with nodes, gpus_per_node, gpu, host_memory");
  EXPECT_EQ(group_error("3"),
            "job.yaml:2:11: `groups` is 3; accepted: a list of maps with nodes, gpus_per_node, gpu, host_memory");
  EXPECT_EQ(group_error("[3]"),
            "job.yaml:2:12: a group must be a map, not 3; accepted keys: nodes, gpus_per_node, gpu, host_memory");
  EXPECT_EQ(group_error("[{nodes: 1, gpus: 8}]"),
            "job.yaml:2:23: unknown key `gpus` in a group; did you mean `gpu`? accepted: nodes, gpus_per_node, gpu, "
            "host_memory");
  EXPECT_EQ(group_error("[{nodes: 1}]"),
            "job.yaml:2:12: a group needs the key `gpus_per_node`; accepted: `gpus_per_node: 8`");
  EXPECT_EQ(group_error("[{nodes: 1, gpus_per_node: -8}]"),
            "job.yaml:2:38: `gpus_per_node` of a group must be an integer from 1 to 65536, not -8");
  EXPECT_EQ(
      group_error("[{nodes: 8000, gpus_per_node: 8, gpu: H100}, {nodes: 193, gpus_per_node: 8, gpu: H100}]"),
      "job.yaml:2:64: 193 nodes of 8 GPUs are too many with 64000 GPUs in other groups; accepted: at most 65536 GPUs "
      "in a cluster");
}

TEST(ReadCluster, ReportsMistakesInTheGpu) {
  EXPECT_EQ(gpu_error("H1000"), "job.yaml:1:44: unknown GPU `H1000`; did you mean `H100-80`? accepted: " + bundled +
                                    ", or a map of specifications");
  EXPECT_EQ(gpu_error("[H100]"),
            "job.yaml:1:44: `gpu` is a list; accepted: a map of specifications, or one of " + bundled);
  EXPECT_EQ(gpu_error("{}"), "job.yaml:1:44: `gpu` needs the key `name`");
  EXPECT_EQ(gpu_error("{name: ''}"),
            "job.yaml:1:51: `name` of `gpu` is the string ``; accepted: a non-empty string without control characters");
  EXPECT_EQ(gpu_error("{name: X}"), "job.yaml:1:44: GPU `X` needs the key `memory`; accepted: `memory: 80GiB`");
  EXPECT_EQ(gpu_error("{name: X, memory: 0}"), "job.yaml:1:62: `memory` of GPU `X`: 0 is not above 0; " + memories);
  EXPECT_EQ(gpu_error("{name: X, memory: 80GiB}"),
            "job.yaml:1:44: GPU `X` needs the key `bandwidth`; accepted: `bandwidth: 3.35TB/s`");
  EXPECT_EQ(gpu_error("{name: X, memory: 80GiB, usable_memory: 81GiB}"),
            "job.yaml:1:84: `usable_memory` of GPU `X`: the string `81GiB` is more than its `memory`, the string "
            "`80GiB`; accepted: at most its `memory`");
  EXPECT_EQ(gpu_error("{name: X, memory: 80GiB, bandwidth: 3TB}"),
            "job.yaml:1:80: `bandwidth` of GPU `X`: the string `3TB` has the unknown unit `TB`; " + bandwidths);
  EXPECT_EQ(
      gpu_error("{name: X, memory: 80GiB, bandwidth: 3TB/s}"),
      "job.yaml:1:44: GPU `X` has no compute speed; accepted: `bf16` or `fp16` above 0, such as `bf16: 989TFLOP/s`");
  EXPECT_EQ(gpu_error("{name: X, memory: 80GiB, bandwidth: 3TB/s, bf16: 1T}"),
            "job.yaml:1:93: `bf16` of GPU `X`: the string `1T` has the unknown unit `T`; accepted: a speed such as "
            "`989TFLOP/s` or a number of "
            "FLOP/s");
  EXPECT_EQ(gpu_error("{name: X, memory: 80GiB, bandwidth: 3TB/s, bf16: 1e15, link: 0}"),
            "job.yaml:1:105: `link` of GPU `X`: 0 is not above 0; " + bandwidths);
  EXPECT_EQ(gpu_error("{name: X, speed: 1}"),
            "job.yaml:1:54: unknown key `speed` in `gpu`; accepted: name, memory, usable_memory, bandwidth, bf16, "
            "fp16, fp8, link, host_link");
}

TEST(ReadCluster, ReportsMistakesInTheNetwork) {
  EXPECT_EQ(line_error("network: 50GB/s"),
            "job.yaml:4:12: `network` must be a map, not the string `50GB/s`; accepted keys: bandwidth, latency, "
            "half_bandwidth_size");
  EXPECT_EQ(line_error("network: {bandwidth: -50GB/s}"),
            "job.yaml:4:24: `bandwidth` of `network`: the string `-50GB/s` is negative; " + bandwidths);
  EXPECT_EQ(line_error("network: {bandwidth: 0}"),
            "job.yaml:4:24: `bandwidth` of `network`: 0 is not above 0; " + bandwidths);
  EXPECT_EQ(line_error("network: {latency: 5GB}"),
            "job.yaml:4:22: `latency` of `network`: the string `5GB` has the unknown unit `GB`; accepted: "
            "a time such as `5us`, `0.2ms` or a number of seconds");
  EXPECT_EQ(line_error("network: {half_bandwidth_size: 1s}"),
            "job.yaml:4:34: `half_bandwidth_size` of `network`: the string `1s` has the unknown unit `s`; " + memories);
  EXPECT_EQ(line_error("network: {nodes: 4}"),
            "job.yaml:4:13: unknown key `nodes` in `network`; accepted: bandwidth, latency, half_bandwidth_size");
  EXPECT_EQ(line_error("network: {}\n  networks: []"),
            "job.yaml:5:13: `cluster` has both `network` and `networks`; accepted: `network` for one level, or "
            "`networks` for several");
}

TEST(ReadCluster, DetectsMissingUnits) {
  EXPECT_EQ(line_error("network: {bandwidth: 50}"),
            "job.yaml:4:24: `bandwidth` of `network`: 50 is less than 1MB/s; accepted: 1MB/s or more, such as `50GB/s` "
            "(numbers without a unit are in bytes/s)");
  EXPECT_EQ(line_error("network: {latency: 5}"),
            "job.yaml:4:22: `latency` of `network`: 5 is more than 1s; accepted: 1s or less, such as `5us` (numbers "
            "without a unit are in seconds)");
  EXPECT_EQ(line_error("host_memory: 2000"),
            "job.yaml:4:16: `host_memory` of `cluster`: 2000 is less than 1MB; accepted: 0, or 1MB or more, such as "
            "`80GiB` (numbers without a unit are in bytes)");
  EXPECT_EQ(gpu_error("{name: X, memory: 80}"),
            "job.yaml:1:62: `memory` of GPU `X`: 80 is less than 1MB; accepted: 1MB or more, such as `80GiB` "
            "(numbers without a unit are in bytes)");
  EXPECT_EQ(gpu_error("{name: X, memory: 80GiB, bandwidth: 3TB/s, bf16: 989}"),
            "job.yaml:1:93: `bf16` of GPU `X`: 989 is less than 1GFLOP/s; accepted: 0, or 1GFLOP/s or more, such as "
            "`989TFLOP/s` (numbers without a unit are in FLOP/s)");
  EXPECT_EQ(line_error("network: {bandwidth: 1MB/s, latency: 1s}"), "no error");
}

TEST(ReadCluster, ReportsMistakesInNetworks) {
  const auto networks_error = [](const std::string& networks) { return line_error("networks: " + networks); };
  EXPECT_EQ(
      networks_error("[]"),
      "job.yaml:4:13: `networks` is an empty list; accepted: a list of maps with name, nodes, bandwidth, latency");
  EXPECT_EQ(networks_error("{}"),
            "job.yaml:4:13: `networks` is a map; accepted: a list of maps with name, nodes, bandwidth, latency");
  EXPECT_EQ(networks_error("[{bandwidth: 1}]"), "job.yaml:4:14: a network needs the key `name`");
  EXPECT_EQ(networks_error("[{name: a, nodes: 2}]"),
            "job.yaml:4:31: network `a` is the last level, which joins all nodes; accepted: no `nodes` there");
  EXPECT_EQ(networks_error("[{name: a}, {name: b}]"),
            "job.yaml:4:14: network `a` needs the key `nodes`; accepted: the number of nodes that a switch joins, "
            "except on the last level");
  EXPECT_EQ(networks_error("[{name: a, nodes: 1}, {name: b}]"),
            "job.yaml:4:31: `nodes` of network `a` must be an integer from 2 to 65536, not 1");
  EXPECT_EQ(networks_error("[{name: a, nodes: 4}, {name: b, nodes: 6}, {name: c}]"),
            "job.yaml:4:52: `nodes` of network `b`: 6 is not a larger multiple of the `nodes` of the previous network; "
            "accepted: 8, 12, ...");
  EXPECT_EQ(networks_error("[{name: a, nodes: 4}, {name: b, nodes: 4}, {name: c}]"),
            "job.yaml:4:52: `nodes` of network `b`: 4 is not a larger multiple of the `nodes` of the previous network; "
            "accepted: 8, 12, ...");
  EXPECT_EQ(networks_error("[{name: a, nodes: 4}, {name: a}]"),
            "job.yaml:4:35: two networks have the name `a`; accepted: a different name for each");
  EXPECT_EQ(networks_error("[{name: a, nodes: 4, bandwidth: x}, {name: b}]"),
            "job.yaml:4:45: `bandwidth` of network `a`: the string `x` is not an amount; " + bandwidths);
}

}  // namespace
}  // namespace dovetail::cluster
