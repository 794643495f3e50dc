// Other ways to run the job of a configuration: with another backend, or on other pools of GPUs.
#pragma once

#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "syntax/shell/launch.h"
#include "syntax/tree.h"
#include "trainers/export/change.h"

namespace dovetail::trainers {

/// What may be another than a configuration has it.
struct Allowed {
  bool backend = false;  ///< who trains: FSDP or Megatron
  bool mode = false;     ///< whether engines share the trainer's GPUs, else how many they have
};

struct OtherWay {
  std::string name;             ///< "megatron, 4 of 8 GPUs for engines"
  std::vector<Change> changes;  ///< that make it of the configuration
};

/// A configuration as it was read.
struct WaysRequest {
  const plan::Job& job;
  const plan::Plan& plan;
  const syntax::SettingTree& settings;
  const syntax::Launch* launch;  ///< null where it is none of a launch script
  Allowed allowed;
};

/// How many GPUs who trains and engines have.
struct Pools {
  int trainer = 0;
  int engines = 0;
  bool shared = false;  ///< they are the same
};

/// The pools that a plan has.
Pools present_pools(const plan::Job& job, const plan::Plan& plan);

/// Each of the backends, each of the modes, and each backend with each mode.
std::vector<OtherWay> combined(const std::vector<OtherWay>& backends, const std::vector<OtherWay>& modes);

/// The other modes, each by what `change_of` makes of its pools; none where none are allowed. Engines share the
/// trainer's GPUs, where they run no batches ahead, or have a quarter, half or three quarters of all to themselves, in
/// whole nodes where there are several.
template <class ChangeOf>
std::vector<OtherWay> mode_ways(const WaysRequest& request, const ChangeOf& change_of);

/// The pools of these modes, and what they are called: "4 of 8 GPUs for engines".
std::vector<Pools> other_pools(const WaysRequest& request);
std::string pools_name(const cluster::Cluster& cluster, const Pools& pools);

template <class ChangeOf>
std::vector<OtherWay> mode_ways(const WaysRequest& request, const ChangeOf& change_of) {
  std::vector<OtherWay> modes;
  if (!request.allowed.mode) return modes;
  for (const Pools& pools : other_pools(request))
    modes.push_back({.name = pools_name(request.job.cluster, pools), .changes = {change_of(pools)}});
  return modes;
}

}  // namespace dovetail::trainers
