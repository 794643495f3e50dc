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
Change change_of(const WaysRequest& request, int trainer, int engines) {
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

std::vector<OtherWay> roll_ways(const WaysRequest& request) {
  return mode_ways(request, [&](const Pools& pools) { return change_of(request, pools.trainer, pools.engines); });
}

}  // namespace dovetail::trainers
