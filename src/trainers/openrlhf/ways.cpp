#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "trainers/openrlhf/writing.h"

namespace dovetail::trainers {
namespace {

/// The roles on GPUs besides the engines, and how many each has.
using RoleSizes = std::vector<std::pair<std::string, int>>;

std::vector<Setter> role_sizes(const cluster::Cluster& cluster, const RoleSizes& sizes) {
  const int node = cluster.groups.front().devices_per_node;
  std::vector<Setter> all;
  for (const auto& [role, count] : sizes) {
    const int nodes = std::max(count / node, 1);
    all.push_back({fmt::format("--{}.num_nodes", role), std::to_string(nodes)});
    all.push_back({fmt::format("--{}.num_gpus_per_node", role), std::to_string(count / nodes)});
  }
  return all;
}

/// The trainer's GPUs shared out: the critic, with the reward model, has half of them where there is one. Flags that
/// join roles are given with it.
RoleSizes apart_roles(const WaysRequest& request, int trainer, std::vector<Setter>& with) {
  const auto has = [&](const char* task) { return find_planned(request.job, request.plan, task) != nullptr; };
  const bool critic = has("critic_train");
  const int actor = critic || has("reward_infer") ? std::max(trainer / 2, 1) : trainer;
  RoleSizes sizes{{"actor", actor}};
  if (has("reference_infer")) {
    sizes.emplace_back("ref", actor);
    with.push_back({"--train.colocate_actor_ref", {}});
  }
  if (critic) sizes.emplace_back("critic", trainer - actor);
  if (has("reward_infer")) sizes.emplace_back("reward", trainer - actor);
  if (critic && has("reward_infer")) with.push_back({"--train.colocate_critic_reward", {}});
  return sizes;
}

Change shared_change(const WaysRequest& request) {
  const int all = cluster::device_count(request.job.cluster);
  const auto has = [&](const char* task) { return find_planned(request.job, request.plan, task) != nullptr; };
  RoleSizes sizes{{"actor", all}};
  if (has("reference_infer")) sizes.emplace_back("ref", all);
  if (has("critic_train")) sizes.emplace_back("critic", all);
  if (has("reward_infer")) sizes.emplace_back("reward", all);
  std::vector<Setter> with = role_sizes(request.job.cluster, sizes);
  with.push_back({"--vllm.num_engines", std::to_string(all)});
  with.push_back({"--vllm.tensor_parallel_size", "1"});
  return {.set = {"--train.colocate_all", {}}, .with = std::move(with)};
}

Change apart_change(const WaysRequest& request, int engines) {
  const int all = cluster::device_count(request.job.cluster);
  std::vector<Setter> joined;
  const RoleSizes roles = apart_roles(request, all - engines, joined);
  Change change{.set = {"--vllm.num_engines", std::to_string(engines)},
                .with = role_sizes(request.job.cluster, roles),
                .without = {"--train.colocate_all", "--vllm.enable_sleep", "--ds.enable_sleep"}};
  change.with.push_back({"--vllm.tensor_parallel_size", "1"});
  change.with.insert(change.with.end(), joined.begin(), joined.end());
  return change;
}

}  // namespace

std::vector<OtherWay> openrlhf_ways(const WaysRequest& request) {
  return mode_ways(request, [&](const Pools& pools) {
    return pools.shared ? shared_change(request) : apart_change(request, pools.engines);
  });
}

}  // namespace dovetail::trainers
