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

struct Variant {
  std::string name;             ///< "megatron, 4 of 8 GPUs for engines"
  std::vector<Change> changes;  ///< that make it of the configuration
};

/// A configuration as it was read.
struct VariantRequest {
  const plan::Job& job;
  const plan::Plan& plan;
  const syntax::SettingTree& settings;
  const syntax::Launch* launch;  ///< null where it is none of a launch script
  Allowed allowed;
};

/// How many GPUs engines may have to themselves: a quarter, half and three quarters of all, in whole nodes where there
/// are several. In rising order, each once, fewer than all.
std::vector<int> engine_pools(const cluster::Cluster& cluster);

/// "engines share the trainer's GPUs", "4 of 8 GPUs for engines".
std::string shared_name();
std::string apart_name(const cluster::Cluster& cluster, int engines);

/// Each of the backends, each of the modes, and each backend with each mode.
std::vector<Variant> combined(const std::vector<Variant>& backends, const std::vector<Variant>& modes);

/// Whether generation waits for training: engines that share its GPUs run no batches ahead.
bool runs_none_ahead(const plan::Job& job);

/// Whether engines have the GPUs that the actor trains on.
bool shares_devices(const plan::Job& job, const plan::Plan& plan);

}  // namespace dovetail::trainers
