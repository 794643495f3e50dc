#include <fmt/format.h>

#include <array>
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

std::vector<Variant> backends_of(const VariantRequest& request) {
  const bool megatron = request.job.software.training == "fsdp2";
  Variant variant{.name = megatron ? "megatron" : "dtensor", .changes = {}};
  for (const std::string role : {"policy", "value"}) {
    if (!is_map(request.settings, role)) continue;
    if (!has_backend(request.settings, role, megatron)) return {};
    const std::string degree =
        role + (megatron ? ".megatron_cfg.tensor_model_parallel_size" : ".dtensor_cfg.tensor_parallel_size");
    variant.changes.push_back(
        {.set = {fmt::format("++{}.megatron_cfg.enabled", role), yaml_flag(megatron)},
         .with = {{fmt::format("++{}.dtensor_cfg.enabled", role), yaml_flag(!megatron)},
                  // Rows are padded to what tensor parallelism divides.
                  {fmt::format("++{}.make_sequence_length_divisible_by", role), fmt::format("${{{}}}", degree)}}});
  }
  if (variant.changes.empty()) return {};
  return {std::move(variant)};
}

std::vector<Variant> modes_of(const VariantRequest& request) {
  const cluster::Cluster& cluster = request.job.cluster;
  const std::string keys = "++policy.generation.colocated.";
  const bool shared = shares_devices(request.job, request.plan);
  const plan::TaskPlan* const generated = find_planned(request.job, request.plan, "actor_generate");
  std::vector<Variant> modes;
  if (!shared && runs_none_ahead(request.job)) modes.push_back({shared_name(), {{.set = {keys + "enabled", "true"}}}});
  for (const int engines : engine_pools(cluster)) {
    if (generated == nullptr || (!shared && generated->mesh.count == engines)) continue;
    const int node = cluster.groups.front().devices_per_node;
    const bool one_node = cluster::node_count(cluster) == 1;
    modes.push_back({apart_name(cluster, engines),
                     {{.set = {keys + "enabled", "false"},
                       .with = {{keys + "resources.gpus_per_node", std::to_string(one_node ? engines : node)},
                                {keys + "resources.num_nodes", one_node ? "null" : std::to_string(engines / node)}}}}});
  }
  return modes;
}

}  // namespace

std::vector<Variant> nemo_rl_variants(const VariantRequest& request) {
  return combined(request.allowed.backend ? backends_of(request) : std::vector<Variant>(),
                  request.allowed.mode ? modes_of(request) : std::vector<Variant>());
}

}  // namespace dovetail::trainers
