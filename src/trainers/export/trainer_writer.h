// Interface between exports and a trainer's folder, which writes its configurations, and other ways to run a job:
// another backend, or other pools of GPUs. changed_base.cpp lists all writers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/cluster.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "syntax/arguments.h"
#include "syntax/shell/launch.h"
#include "syntax/tree.h"
#include "trainers/export/change.h"
#include "trainers/export/whole_file.h"

namespace dovetail::trainers {

/// Aspects that may differ from the configuration.
struct Allowed {
  bool backend = false;  ///< training backend: FSDP or Megatron
  bool mode = false;     ///< whether engines share the trainer's GPUs, and otherwise how many they have
};

struct OtherWay {
  std::string name;             ///< "megatron, 4 of 8 GPUs for engines"
  std::vector<Change> changes;  ///< changes to the configuration
};

/// A configuration as read.
struct WaysRequest {
  const plan::Job& job;
  const plan::Plan& plan;
  const syntax::SettingTree& settings;
  const syntax::Launch* launch;  ///< null unless read from a launch script
  Allowed allowed;
};

/// Numbers of GPUs of training and engines.
struct Pools {
  int trainer = 0;
  int engines = 0;
  bool shared = false;  ///< both use the same GPUs
};

/// Returns the pools of a plan.
Pools present_pools(const plan::Job& job, const plan::Plan& plan);

/// Returns each backend, each mode, and each pair of both.
std::vector<OtherWay> combined(const std::vector<OtherWay>& backends, const std::vector<OtherWay>& modes);

/// Returns the other modes, with the change that `change_of` makes for their pools; empty unless modes are allowed.
/// Engines share the trainer's GPUs, if no batches are generated ahead, or have a quarter, half or three quarters of
/// all GPUs, in whole nodes on clusters of several nodes.
template <class ChangeOf>
std::vector<OtherWay> mode_ways(const WaysRequest& request, const ChangeOf& change_of);

/// Return the pools of these modes, and their names: "4 of 8 GPUs for engines".
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

/// The configuration writer of one trainer.
struct TrainerWriter {
  std::string_view name;  ///< "verl"
  /// Returns all settings for the tasks of the plan, including those that the configuration already has. `settings` are
  /// those of the base; its backends and engines decide which keys are used.
  std::vector<Change> (*changes_of)(const plan::Job& job, const plan::Plan& plan, const syntax::SettingTree& settings);
  /// Returns other ways to run the job of a configuration. The caller reads the results again, since the trainer may
  /// reject some. Null: there are no other ways.
  std::vector<OtherWay> (*ways_of)(const WaysRequest& request) = nullptr;
  /// Returns the flags of the trainer's command. Null: settings are added as words, not as flags.
  std::span<const syntax::Flag> (*flags)() = nullptr;
  bool patches = false;     ///< YAML is edited in place (export/yaml_edit.h), since a file cannot extend another one
  bool takes_words = true;  ///< the command accepts settings after the configuration file
  /// Returns a file for a job without a base. Null: a base is required.
  base::Result<WholeFile> (*whole)(const JobFacts& facts) = nullptr;
};

}  // namespace dovetail::trainers
