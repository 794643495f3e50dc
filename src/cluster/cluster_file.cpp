#include "cluster/cluster_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "base/amount.h"
#include "base/document.h"
#include "base/fields.h"
#include "base/file.h"

namespace dovetail::cluster {

namespace {

using base::Measure;
using base::Node;
using base::quote;
using base::Result;
using base::Status;
using base::Zero;

constexpr std::int64_t default_host_memory = 2'000'000'000'000;
constexpr double default_latency = 5e-6;
constexpr double network_of_figures = 25e9;
constexpr double pcie_4 = 32e9;

/// Amounts beyond these limits are probably missing a unit: `bandwidth: 50`, `memory: 80`, `latency: 5`.
constexpr double min_bandwidth = 1e6;
constexpr double min_speed = 1e9;
constexpr double max_latency = 1;
constexpr std::int64_t min_memory = 1'000'000;

/// Returns a message about an implausible amount, or an empty string. Accepts 0: callers that do not accept it have
/// rejected it before.
std::string_view implausible(Measure measure, double amount) {
  if (amount == 0) return {};
  if (measure == Measure::bandwidth && amount < min_bandwidth) {
    return "is less than 1MB/s; accepted: 1MB/s or more, such as `50GB/s` (numbers without a unit are in bytes/s)";
  }
  if (measure == Measure::compute && amount < min_speed) {
    return "is less than 1GFLOP/s; accepted: 0, or 1GFLOP/s or more, such as `989TFLOP/s` (numbers without a unit are "
           "in FLOP/s)";
  }
  if (measure == Measure::time && amount > max_latency) {
    return "is more than 1s; accepted: 1s or less, such as `5us` (numbers without a unit are in seconds)";
  }
  return {};
}

Result<double> read_likely(const Node& node, const std::string& what, Measure measure, Zero zero) {
  DOVETAIL_TRY(const double amount, base::read_amount(node, what, measure, zero));
  const std::string_view message = implausible(measure, amount);
  if (!message.empty()) return node.error(fmt::format("{}: {} {}", what, node.describe(), message));
  return amount;
}

Result<std::int64_t> read_memory(const Node& node, const std::string& what, Zero zero = Zero::rejected) {
  DOVETAIL_TRY(const std::int64_t bytes, base::read_bytes(node, what, zero));
  if (bytes > 0 && bytes < min_memory) {
    return node.error(fmt::format(
        "{}: {} is less than 1MB; accepted: {}1MB or more, such as `80GiB` (numbers without a unit are in bytes)", what,
        node.describe(), zero == Zero::accepted ? "0, or " : ""));
  }
  return bytes;
}

/// Reads the amount at an optional key into `amount`.
Status read_optional(const Node& map, std::string_view what, std::string_view key, Measure measure, Zero zero,
                     double& amount) {
  if (const std::optional<Node> node = map.find(key)) {
    DOVETAIL_TRY(amount, read_likely(*node, fmt::format("{} of {}", quote(key), what), measure, zero));
  }
  return {};
}

/// Reads a name, which messages and tables show.
Result<std::string> name_in(const Node& map, std::string_view what) {
  DOVETAIL_TRY(const Node name, base::require(map, what, "name"));
  if (!name.is_string() || !base::is_name(name.text())) {
    return name.error(fmt::format("`name` of {} is {}; accepted: a non-empty string without control characters", what,
                                  name.describe()));
  }
  return std::string(name.text());
}

Status read_gpu_memory(const Node& map, const std::string& what, Gpu& gpu) {
  DOVETAIL_TRY(const Node memory, base::require(map, what, "memory", "`memory: 80GiB`"));
  DOVETAIL_TRY(gpu.memory, read_memory(memory, "`memory` of " + what));
  gpu.usable_memory = usable_of(gpu.memory);
  if (const std::optional<Node> usable = map.find("usable_memory")) {
    DOVETAIL_TRY(gpu.usable_memory, read_memory(*usable, "`usable_memory` of " + what));
    if (gpu.usable_memory > gpu.memory) {
      return usable->error(
          fmt::format("`usable_memory` of {}: {} is more than its `memory`, {}; accepted: at most its `memory`", what,
                      usable->describe(), memory.describe()));
    }
  }
  DOVETAIL_TRY(const Node bandwidth, base::require(map, what, "bandwidth", "`bandwidth: 3.35TB/s`"));
  DOVETAIL_TRY(gpu.memory_bandwidth,
               read_likely(bandwidth, "`bandwidth` of " + what, Measure::bandwidth, Zero::rejected));
  return {};
}

Status read_gpu_speeds(const Node& map, const std::string& what, Gpu& gpu) {
  DOVETAIL_CHECK(read_optional(map, what, "bf16", Measure::compute, Zero::accepted, gpu.bf16));
  gpu.fp16 = gpu.bf16;
  DOVETAIL_CHECK(read_optional(map, what, "fp16", Measure::compute, Zero::accepted, gpu.fp16));
  DOVETAIL_CHECK(read_optional(map, what, "fp8", Measure::compute, Zero::accepted, gpu.fp8));
  if (gpu.bf16 == 0 && gpu.fp16 == 0) {
    return map.error(
        fmt::format("{} has no compute speed; accepted: `bf16` or `fp16` above 0, such as `bf16: 989TFLOP/s`", what));
  }
  gpu.host_bandwidth = pcie_4;
  DOVETAIL_CHECK(read_optional(map, what, "host_link", Measure::bandwidth, Zero::rejected, gpu.host_bandwidth));
  gpu.link_bandwidth = gpu.host_bandwidth;
  return read_optional(map, what, "link", Measure::bandwidth, Zero::rejected, gpu.link_bandwidth);
}

/// Reads the name of a bundled GPU, or a map with its specifications.
Result<Gpu> read_gpu(const Node& node) {
  if (!node.is_map()) {
    // A name such as 4090 is a number.
    if (!node.is_string() && !node.is_number()) {
      return node.error(fmt::format("`gpu` is {}; accepted: a map of specifications, or one of {}", node.describe(),
                                    fmt::join(gpu_names(), ", ")));
    }
    Result<Gpu> gpu = find_gpu(node.text());
    if (!gpu.ok()) return node.error(gpu.error().message + ", or a map of specifications");
    return gpu;
  }
  DOVETAIL_CHECK(base::check_keys(
      node, "`gpu`", {"name", "memory", "usable_memory", "bandwidth", "bf16", "fp16", "fp8", "link", "host_link"}));
  Gpu gpu;
  DOVETAIL_TRY(gpu.name, name_in(node, "`gpu`"));
  const std::string what = "GPU " + quote(gpu.name);
  DOVETAIL_CHECK(read_gpu_memory(node, what, gpu));
  DOVETAIL_CHECK(read_gpu_speeds(node, what, gpu));
  gpu.network_bandwidth = network_of_figures;
  return gpu;
}

/// Reads `nodes`, `gpus_per_node`, `gpu` and `host_memory` of `map`. Adds this group's devices to `devices`.
Result<NodeGroup> read_group(const Node& map, std::string_view what, int& devices) {
  NodeGroup group;
  DOVETAIL_TRY(const Node nodes, base::require(map, what, "nodes", "`nodes: 4`"));
  DOVETAIL_TRY(const std::int64_t node_number,
               base::read_integer(nodes, fmt::format("`nodes` of {}", what), 1, max_device_count));
  DOVETAIL_TRY(const Node per_node, base::require(map, what, "gpus_per_node", "`gpus_per_node: 8`"));
  DOVETAIL_TRY(const std::int64_t in_node,
               base::read_integer(per_node, fmt::format("`gpus_per_node` of {}", what), 1, max_device_count));
  if (node_number * in_node > max_device_count - devices) {
    return nodes.error(
        fmt::format("{} nodes of {} GPUs are too many{}; accepted: at most {} GPUs in a cluster", node_number, in_node,
                    devices > 0 ? fmt::format(" with {} GPUs in other groups", devices) : "", max_device_count));
  }
  group.nodes = static_cast<int>(node_number);
  group.devices_per_node = static_cast<int>(in_node);
  devices += group.nodes * group.devices_per_node;
  DOVETAIL_TRY(const Node gpu, base::require(map, what, "gpu", "`gpu: H100`"));
  DOVETAIL_TRY(group.gpu, read_gpu(gpu));
  group.host_memory = default_host_memory;
  if (const std::optional<Node> memory = map.find("host_memory")) {
    DOVETAIL_TRY(group.host_memory, read_memory(*memory, fmt::format("`host_memory` of {}", what), Zero::accepted));
  }
  return group;
}

Result<std::vector<NodeGroup>> read_groups(const Node& map) {
  int devices = 0;
  const std::optional<Node> list = map.find("groups");
  if (!list) {
    DOVETAIL_TRY(NodeGroup group, read_group(map, "`cluster`", devices));
    return std::vector<NodeGroup>{std::move(group)};
  }
  for (const std::string_view key : {"nodes", "gpus_per_node", "gpu", "host_memory"}) {
    if (!map.find(key)) continue;
    return list->error(fmt::format(
        "`cluster` has both {} and `groups`; accepted: `groups` with {} in each, or one kind of node without `groups`",
        quote(key), quote(key)));
  }
  if (!list->is_list() || list->size() == 0) {
    return list->error(
        fmt::format("`groups` is {}; accepted: a list of maps with nodes, gpus_per_node, gpu, host_memory",
                    list->is_list() ? "an empty list" : list->describe()));
  }
  std::vector<NodeGroup> groups;
  for (std::size_t i = 0; i < list->size(); ++i) {
    DOVETAIL_CHECK(base::check_keys(list->item(i), "a group", {"nodes", "gpus_per_node", "gpu", "host_memory"}));
    DOVETAIL_TRY(NodeGroup group, read_group(list->item(i), "a group", devices));
    groups.push_back(std::move(group));
  }
  return groups;
}

double usual_network(const std::vector<NodeGroup>& groups) {
  double bandwidth = groups.front().gpu.network_bandwidth;
  for (const NodeGroup& group : groups) bandwidth = std::min(bandwidth, group.gpu.network_bandwidth);
  return bandwidth;
}

/// Reads `bandwidth`, `latency` and `half_bandwidth_size` of `map`.
Status read_speeds(const Node& map, const std::string& what, NetworkLevel& network) {
  DOVETAIL_CHECK(read_optional(map, what, "bandwidth", Measure::bandwidth, Zero::rejected, network.bandwidth));
  network.latency = default_latency;
  DOVETAIL_CHECK(read_optional(map, what, "latency", Measure::time, Zero::accepted, network.latency));
  if (const std::optional<Node> size = map.find("half_bandwidth_size")) {
    DOVETAIL_TRY(const std::int64_t bytes, base::read_bytes(*size, "`half_bandwidth_size` of " + what, Zero::accepted));
    network.half_bandwidth_size = static_cast<double>(bytes);
  }
  return {};
}

/// Reads level `index` of `networks`. `joined` is the number of nodes that a switch of the previous level joins, or 1
/// before the first level.
Result<NetworkLevel> read_level(const Node& list, std::size_t index, double usual_bandwidth, int joined) {
  const Node map = list.item(index);
  DOVETAIL_CHECK(base::check_keys(map, "a network", {"name", "nodes", "bandwidth", "latency", "half_bandwidth_size"}));
  NetworkLevel network;
  DOVETAIL_TRY(network.name, name_in(map, "a network"));
  const std::string what = "network " + quote(network.name);
  const std::optional<Node> nodes = map.find("nodes");
  if (index + 1 == list.size()) {
    if (nodes)
      return nodes->error(fmt::format("{} is the last level, which joins all nodes; accepted: no `nodes` there", what));
  } else {
    if (!nodes)
      return map.error(fmt::format(
          "{} needs the key `nodes`; accepted: the number of nodes that a switch joins, except on the last level",
          what));
    DOVETAIL_TRY(const std::int64_t count, base::read_integer(*nodes, "`nodes` of " + what, 2, max_device_count));
    network.nodes = static_cast<int>(count);
    if (network.nodes % joined != 0 || network.nodes == joined) {
      return nodes->error(fmt::format(
          "`nodes` of {}: {} is not a larger multiple of the `nodes` of the previous network; accepted: {}, {}, ...",
          what, network.nodes, 2 * joined, 3 * joined));
    }
  }
  network.bandwidth = usual_bandwidth;
  DOVETAIL_CHECK(read_speeds(map, what, network));
  return network;
}

Result<std::vector<NetworkLevel>> read_levels(const Node& list, double usual_bandwidth) {
  if (!list.is_list() || list.size() == 0) {
    return list.error(fmt::format("`networks` is {}; accepted: a list of maps with name, nodes, bandwidth, latency",
                                  list.is_list() ? "an empty list" : list.describe()));
  }
  std::vector<NetworkLevel> networks;
  std::set<std::string, std::less<>> names;
  int joined = 1;
  for (std::size_t i = 0; i < list.size(); ++i) {
    DOVETAIL_TRY(NetworkLevel network, read_level(list, i, usual_bandwidth, joined));
    if (!names.insert(network.name).second) {
      return list.item(i).error(
          fmt::format("two networks have the name {}; accepted: a different name for each", quote(network.name)));
    }
    joined = network.nodes;
    networks.push_back(std::move(network));
  }
  return networks;
}

Result<std::vector<NetworkLevel>> read_networks(const Node& map, double usual_bandwidth) {
  const std::optional<Node> one = map.find("network");
  const std::optional<Node> several = map.find("networks");
  if (one && several) {
    return several->error(
        "`cluster` has both `network` and `networks`; accepted: `network` for one level, or `networks` for several");
  }
  if (several) return read_levels(*several, usual_bandwidth);
  NetworkLevel network = {.name = "network", .nodes = 0, .bandwidth = usual_bandwidth, .latency = default_latency};
  if (one) {
    DOVETAIL_CHECK(base::check_keys(*one, "`network`", {"bandwidth", "latency", "half_bandwidth_size"}));
    DOVETAIL_CHECK(read_speeds(*one, "`network`", network));
  }
  return std::vector<NetworkLevel>{std::move(network)};
}

}  // namespace

Result<Cluster> read_cluster(const Node& node) {
  DOVETAIL_CHECK(base::check_keys(
      node, "`cluster`", {"nodes", "gpus_per_node", "gpu", "host_memory", "groups", "network", "networks", "price"}));
  Cluster cluster;
  DOVETAIL_TRY(cluster.groups, read_groups(node));
  DOVETAIL_TRY(cluster.networks, read_networks(node, usual_network(cluster.groups)));
  if (const std::optional<Node> price = node.find("price")) {
    DOVETAIL_TRY(cluster.price, base::read_amount(*price, "`price` of `cluster`", Measure::number, Zero::accepted));
  }
  return cluster;
}

Result<Cluster> read_cluster_file(const std::string& path) {
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(content, base::display_path(path)));
  DOVETAIL_TRY(const Node cluster, base::require(document.root(), "a cluster file", "cluster"));
  return read_cluster(cluster);
}

}  // namespace dovetail::cluster
