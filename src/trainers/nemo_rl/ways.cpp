#include <fmt/format.h>

#include <string>
#include <string_view>

#include "syntax/tree.h"
#include "trainers/nemo_rl/writing.h"

namespace dovetail::trainers {
namespace {

bool is_map(const syntax::SettingTree& settings, const std::string& key) {
  const syntax::Setting* const found = find_setting(settings.root, key);
  return found != nullptr && found->kind == syntax::Setting::Kind::map;
}

/// Whether all that a role needs of a backend is there: examples leave out the other one's.
bool has_backend(const syntax::SettingTree& settings, const std::string& role, bool megatron) {
  return megatron ? is_map(settings, role + ".megatron_cfg.optimizer")
                  : is_map(settings, role + ".dtensor_cfg") && is_map(settings, role + ".optimizer");
}

std::vector<OtherWay> backends_of(const WaysRequest& request) {
  const bool megatron = request.job.software.training == "fsdp2";
  OtherWay way{.name = megatron ? "megatron" : "dtensor", .changes = {}};
  for (const std::string role : {"policy", "value"}) {
    if (!is_map(request.settings, role)) continue;
    if (!has_backend(request.settings, role, megatron)) return {};
    const std::string degree =
        role + (megatron ? ".megatron_cfg.tensor_model_parallel_size" : ".dtensor_cfg.tensor_parallel_size");
    way.changes.push_back(
        {.set = {fmt::format("++{}.megatron_cfg.enabled", role), yaml_flag(megatron)},
         .with = {{fmt::format("++{}.dtensor_cfg.enabled", role), yaml_flag(!megatron)},
                  // Rows are padded to what tensor parallelism divides.
                  {fmt::format("++{}.make_sequence_length_divisible_by", role), fmt::format("${{{}}}", degree)}}});
  }
  if (way.changes.empty()) return {};
  return {std::move(way)};
}

Change change_of(const cluster::Cluster& cluster, const Pools& pools) {
  const std::string keys = "++policy.generation.colocated.";
  if (pools.shared) return {.set = {keys + "enabled", "true"}};
  const int node = cluster.groups.front().devices_per_node;
  const bool one_node = cluster::node_count(cluster) == 1;
  return {.set = {keys + "enabled", "false"},
          .with = {{keys + "resources.gpus_per_node", std::to_string(one_node ? pools.engines : node)},
                   {keys + "resources.num_nodes", one_node ? "null" : std::to_string(pools.engines / node)}}};
}

}  // namespace

std::vector<OtherWay> nemo_rl_ways(const WaysRequest& request) {
  return combined(request.allowed.backend ? backends_of(request) : std::vector<OtherWay>(),
                  mode_ways(request, [&](const Pools& pools) { return change_of(request.job.cluster, pools); }));
}

}  // namespace dovetail::trainers
