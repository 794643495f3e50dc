#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "trainers/areal/engines.h"
#include "trainers/areal/writing.h"

namespace dovetail::trainers {
namespace {

/// A way to share the GPUs out.
struct Pools {
  std::string name;  ///< empty: as they are
  int trainer = 0;
  int engines = 0;
  bool shared = false;
};

/// How many GPUs who trains has, where all its roles have the same.
std::optional<Pools> present_pools(const std::vector<ArealEngine>& engines) {
  const ArealEngine& actor = areal_engine_of(engines, "actor");
  const ArealEngine& rollout = areal_engine_of(engines, "rollout");
  for (const ArealEngine& engine : engines)
    if (engine.role != "actor" && engine.role != "rollout" && engine.target != "actor") return std::nullopt;
  if (rollout.key == "allocation_mode") return std::nullopt;
  return Pools{.name = {},
               .trainer = static_cast<int>(actor.allocation.devices()),
               .engines = static_cast<int>(rollout.allocation.devices()),
               .shared = areal_is_colocated(engines)};
}

std::vector<Pools> other_pools(const plan::Job& job, const Pools& present) {
  const cluster::Cluster& cluster = job.cluster;
  std::vector<Pools> all;
  const int count = cluster::device_count(cluster);
  if (!present.shared && runs_none_ahead(job))
    all.push_back({.name = shared_name(), .trainer = count, .engines = count, .shared = true});
  for (const int engines : engine_pools(cluster))
    if (present.shared || present.engines != engines)
      all.push_back({.name = apart_name(cluster, engines), .trainer = count - engines, .engines = engines});
  return all;
}

std::string allocation_text(std::string_view backend, const ArealAllocation& said, int devices) {
  return fmt::format("{}{}:d{}", backend, said.name.empty() ? "" : "[" + said.name + "]", devices);
}

/// All strings, with one copy on each GPU: a plan says other degrees.
Change change_of(const std::vector<ArealEngine>& engines, const Pools& present, const Pools& pools,
                 const std::string& backend) {
  Change change;
  for (const ArealEngine& engine : engines) {
    const bool generates = engine.role == "rollout";
    const Setter set{engine.key, generates
                                     ? allocation_text(engine.allocation.backend, engine.allocation, pools.engines)
                                     : allocation_text(backend, engine.allocation, pools.trainer)};
    if (engine.role == "actor")
      change.set = set;
    else if (!generates || pools.engines != present.engines || pools.shared != present.shared)
      change.with.push_back(set);
  }
  if (pools.shared != present.shared) {
    change.with.push_back({"rollout.scheduling_strategy.type", pools.shared ? "colocation" : "separation"});
    change.with.push_back({"rollout.scheduling_strategy.target", pools.shared ? "actor" : "null"});
    // Who shares GPUs leaves them.
    change.with.push_back({"enable_offload", yaml_flag(pools.shared)});
    change.with.push_back({"actor.offload", yaml_flag(pools.shared)});
    if (pools.shared) change.with.push_back({"actor.weight_update_mode", "disk"});
  }
  return change;
}

}  // namespace

std::vector<Variant> areal_variants(const VariantRequest& request) {
  ImportedRun run;
  run.reference = find_planned(request.job, request.plan, "reference_infer") != nullptr;
  const auto engines = areal_engines(request.settings, run);
  if (!engines.ok()) return {};
  const std::optional<Pools> present = present_pools(*engines);
  if (!present) return {};
  const std::string& backend = areal_engine_of(*engines, "actor").allocation.backend;
  const std::string other = backend == "megatron" ? "fsdp" : "megatron";
  std::vector<Variant> variants;
  if (request.allowed.backend) variants.push_back({other, {change_of(*engines, *present, *present, other)}});
  if (!request.allowed.mode) return variants;
  for (const Pools& pools : other_pools(request.job, *present)) {
    variants.push_back({pools.name, {change_of(*engines, *present, pools, backend)}});
    if (request.allowed.backend)
      variants.push_back({fmt::format("{}, {}", other, pools.name), {change_of(*engines, *present, pools, other)}});
  }
  return variants;
}

}  // namespace dovetail::trainers
