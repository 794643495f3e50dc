#include "trainers/import/options.h"

#include <fmt/core.h>

#include <charconv>
#include <system_error>
#include <vector>

#include "base/document.h"
#include "base/file.h"
#include "cluster/cluster_file.h"
#include "syntax/tree.h"

namespace dovetail::trainers {

std::optional<std::int64_t> plain_length(const std::optional<std::string>& given) {
  if (!given) return std::nullopt;
  std::int64_t length = 0;
  const auto [end, fault] = std::from_chars(given->data(), given->data() + given->size(), length);
  if (fault != std::errc() || end != given->data() + given->size() || length < 1) return std::nullopt;
  return length;
}

namespace {

/// Up to two counts, each followed by `x`, and the rest of the string.
struct ClusterParts {
  std::vector<std::int64_t> counts;
  std::string_view gpu;
};

ClusterParts cluster_parts(std::string_view text) {
  ClusterParts parts;
  while (parts.counts.size() < 2) {
    std::int64_t count = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (fault != std::errc() || count < 1 || digits >= text.size() || text[digits] != 'x') break;
    parts.counts.push_back(count);
    text.remove_prefix(digits + 1);
  }
  parts.gpu = text;
  return parts;
}

base::Result<ClusterChoice> choice_in_file(const std::string& path) {
  DOVETAIL_TRY(const std::string content, base::read_file(path));
  DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(content, base::display_path(path)));
  DOVETAIL_TRY(const base::Node node, base::require(document.root(), "a cluster file", "cluster"));
  DOVETAIL_TRY(const cluster::Cluster cluster, cluster::read_cluster(node));
  if (cluster.groups.size() != 1) return node.error("the nodes differ; accepted: identical nodes");
  DOVETAIL_TRY(const syntax::Setting whole, syntax::setting_of(document, content, 0));
  return ClusterChoice{.text = to_json(*find_member(whole, "cluster")),
                       .nodes = cluster.groups.front().nodes,
                       .gpus_per_node = cluster.groups.front().devices_per_node};
}

}  // namespace

ClusterChoice plain_cluster(std::int64_t nodes, std::int64_t gpus_per_node, const std::string& gpu) {
  return {.text = fmt::format("{{nodes: {}, gpus_per_node: {}, gpu: {}}}", nodes, gpus_per_node, gpu),
          .nodes = nodes,
          .gpus_per_node = gpus_per_node};
}

base::Result<cluster::Gpu> gpu_of_option(std::string_view name) {
  base::Result<cluster::Gpu> gpu = cluster::find_gpu(name);
  if (gpu.ok()) return gpu;
  return base::bad_input(gpu.error().message +
                         ", or --cluster FILE with `cluster: {nodes: 1, gpus_per_node: 8, gpu: {name: NAME, memory: "
                         "80GiB, bandwidth: 3.35TB/s, bf16: 989TFLOP/s}}`");
}

base::Result<std::optional<ClusterChoice>> chosen_cluster(const ImportOptions& options) {
  if (!options.cluster) return std::optional<ClusterChoice>();
  if (options.gpu) return base::bad_input("--cluster and --gpu cannot be combined: --cluster already sets the GPU");
  const ClusterParts parts = cluster_parts(*options.cluster);
  if (parts.counts.empty()) {
    DOVETAIL_TRY(ClusterChoice choice, choice_in_file(*options.cluster));
    return std::optional(std::move(choice));
  }
  DOVETAIL_TRY(const cluster::Gpu gpu, gpu_of_option(parts.gpu));
  const std::int64_t nodes = parts.counts.size() == 2 ? parts.counts.front() : 1;
  return std::optional(plain_cluster(nodes, parts.counts.back(), gpu.name));
}

}  // namespace dovetail::trainers
