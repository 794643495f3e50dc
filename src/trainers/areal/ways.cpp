#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "trainers/areal/engines.h"
#include "trainers/areal/writing.h"

namespace dovetail::trainers {
namespace {

/// Whether all roles that train have the same GPUs, and each engine a string of its own.
bool has_one_trainer(const std::vector<ArealEngine>& engines) {
  for (const ArealEngine& engine : engines)
    if (engine.role != "actor" && engine.role != "rollout" && engine.target != "actor") return false;
  return areal_engine_of(engines, "rollout").key != "allocation_mode";
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

std::vector<OtherWay> areal_ways(const WaysRequest& request) {
  ImportedRun run;
  run.reference = find_planned(request.job, request.plan, "reference_infer") != nullptr;
  const auto engines = areal_engines(request.settings, run);
  if (!engines.ok()) return {};
  if (!has_one_trainer(*engines)) return {};
  const Pools present = present_pools(request.job, request.plan);
  const std::string& backend = areal_engine_of(*engines, "actor").allocation.backend;
  const std::string other = backend == "megatron" ? "fsdp" : "megatron";
  const auto modes_by = [&](const std::string& name) {
    return mode_ways(request, [&](const Pools& pools) { return change_of(*engines, present, pools, name); });
  };
  std::vector<OtherWay> ways = modes_by(backend);
  if (!request.allowed.backend) return ways;
  ways.insert(ways.begin(), {other, {change_of(*engines, present, present, other)}});
  for (OtherWay& mode : modes_by(other)) {
    mode.name = fmt::format("{}, {}", other, mode.name);
    ways.push_back(std::move(mode));
  }
  return ways;
}

}  // namespace dovetail::trainers
