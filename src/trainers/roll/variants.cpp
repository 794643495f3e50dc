#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "trainers/roll/devices.h"
#include "trainers/roll/writing.h"

namespace dovetail::trainers {
namespace {

Setter devices_of(const std::string& role, int first, int count) {
  return {role + ".device_mapping", fmt::format("list(range({}, {}))", first, first + count)};
}

/// Engines on the last `engines` of all GPUs and everybody else on the first `trainer`.
Change pools(const VariantRequest& request, int trainer, int engines) {
  const int all = cluster::device_count(request.job.cluster);
  Change change{.set = devices_of("actor_infer", all - engines, engines),
                .with = {devices_of("actor_train", 0, trainer)}};
  for (const std::string role : {"reference", "critic"}) {
    const syntax::Setting* const said = find_setting(request.settings.root, role + ".device_mapping");
    if (said != nullptr && said->kind != syntax::Setting::Kind::null)
      change.with.push_back(devices_of(role, 0, trainer));
  }
  for (const auto& [role, task] : {std::pair("actor_train", "actor_train"), std::pair("critic", "critic_train")}) {
    const plan::TaskPlan* const trained = find_planned(request.job, request.plan, task);
    if (trained == nullptr) continue;
    plan::TaskPlan dealt = *trained;
    dealt.layout.data = trainer / std::max(dealt.layout.devices() / dealt.layout.data, 1);
    if (const auto steps = roll_steps(request.settings, role, request.job, dealt)) change.with.push_back(*steps);
  }
  if (const base::Result<std::string> judge = roll_judge(request.settings); judge.ok() && !judge->empty())
    change.with.push_back(devices_of(*judge, 0, trainer));
  return change;
}

}  // namespace

std::vector<Variant> roll_variants(const VariantRequest& request) {
  if (!request.allowed.mode) return {};
  const cluster::Cluster& cluster = request.job.cluster;
  const int all = cluster::device_count(cluster);
  const bool shared = shares_devices(request.job, request.plan);
  const plan::TaskPlan* const generated = find_planned(request.job, request.plan, "actor_generate");
  std::vector<Variant> modes;
  if (!shared && runs_none_ahead(request.job)) modes.push_back({shared_name(), {pools(request, all, all)}});
  for (const int engines : engine_pools(cluster))
    if (generated != nullptr && (shared || generated->mesh.count != engines))
      modes.push_back({apart_name(cluster, engines), {pools(request, all - engines, engines)}});
  return modes;
}

}  // namespace dovetail::trainers
