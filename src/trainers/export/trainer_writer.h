// Interface of the code that writes one trainer's configurations, and alternatives to a configuration: other backends
// and other pools of GPUs for the same job. changed_base.cpp lists all writers.
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
#include "trainers/export/complete_file.h"

namespace dovetail::trainers {

/// Aspects in which an alternative may differ from the configuration. False: the aspect must stay the same.
struct Allowed {
  bool backend = false;  ///< the training backend, such as FSDP or Megatron
  bool mode = false;     ///< the pools: engines share the trainer's GPUs, or have a certain number of separate GPUs
};

struct Alternative {
  std::string name;             ///< "megatron, 4 of 8 GPUs for engines"
  std::vector<Change> changes;  ///< changes to the configuration
};

/// A configuration that was read, and the kinds of alternatives to look for.
struct AlternativesRequest {
  const plan::Job& job;
  const plan::Plan& plan;
  const syntax::SettingTree& settings;
  const syntax::Launch* launch;  ///< null unless read from a launch script
  Allowed allowed;
};

/// Numbers of GPUs for training and for engines.
struct Pools {
  int trainer = 0;
  int engines = 0;
  bool shared = false;  ///< training and engines use the same GPUs
};

/// Returns the pools of a plan.
Pools present_pools(const plan::Job& job, const plan::Plan& plan);

/// Returns all backends, all modes, and all combinations of one of each.
std::vector<Alternative> combined(const std::vector<Alternative>& backends, const std::vector<Alternative>& modes);

/// Returns the other modes, each with the change that `change_of` returns for its pools. Returns an empty vector unless
/// modes are allowed. Engines have a quarter, half or three quarters of all GPUs (whole nodes, if there are several
/// nodes), or they share the trainer's GPUs. Sharing is omitted if batches are generated ahead.
template <class ChangeOf>
std::vector<Alternative> mode_alternatives(const AlternativesRequest& request, const ChangeOf& change_of);

/// Returns the pools of the other modes, even if modes are not allowed.
std::vector<Pools> other_pools(const AlternativesRequest& request);
/// Returns the name of a mode: "4 of 8 GPUs for engines".
std::string pools_name(const cluster::Cluster& cluster, const Pools& pools);

template <class ChangeOf>
std::vector<Alternative> mode_alternatives(const AlternativesRequest& request, const ChangeOf& change_of) {
  std::vector<Alternative> modes;
  if (!request.allowed.mode) return modes;
  for (const Pools& pools : other_pools(request))
    modes.push_back({.name = pools_name(request.job.cluster, pools), .changes = {change_of(pools)}});
  return modes;
}

/// The configuration writer of one trainer.
struct TrainerWriter {
  std::string_view name;  ///< "verl"
  /// Returns all settings for the tasks of the plan, including those that the configuration already has. `settings` are
  /// the settings of the configuration. They select the backends and engines, which determine the keys.
  std::vector<Change> (*changes_of)(const plan::Job& job, const plan::Plan& plan, const syntax::SettingTree& settings);
  /// Returns the alternatives of a configuration. The trainer may reject some of them, so the caller must read each
  /// changed configuration again. Null: there are no alternatives.
  std::vector<Alternative> (*alternatives_of)(const AlternativesRequest& request) = nullptr;
  /// Returns the flags of the trainer's command. Null: settings are words such as `key=value`.
  std::span<const syntax::Flag> (*flags)() = nullptr;
  /// Whether YAML files are edited in place (export/yaml_edit.h). Needed if files cannot inherit from other files.
  bool patches = false;
  bool takes_arguments = true;  ///< the command accepts settings after the configuration file
  /// Returns a new file for a job. Null: exports need an existing configuration as a base.
  base::Result<CompleteFile> (*complete_file)(const JobFacts& facts) = nullptr;
};

}  // namespace dovetail::trainers
