// The engines of a run of AReaL: which there are, on how many GPUs, and which share them.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "syntax/tree.h"
#include "trainers/areal/allocation.h"
#include "trainers/import/imported_run.h"

namespace dovetail::trainers {

struct ArealEngine {
  std::string role;  ///< where its settings stand: "actor", "critic", "ref", "rollout"
  std::string key;   ///< of what says its allocation
  ArealAllocation allocation;
  std::string target;  ///< the role whose GPUs it has; empty: it has GPUs of its own
};

/// Actor, critic where `critic` has settings, reference where the run has one, rollout: in the order that AReaL makes
/// them. Before March 2026 `allocation_mode` says all; where engines have strings of their own it is ignored. An Error
/// where an allocation is none, where one generates that should train, or where engines share GPUs that AReaL would not
/// let share them. `run` is given what is assumed and ignored.
base::Result<std::vector<ArealEngine>> areal_engines(const syntax::SettingTree& tree, ImportedRun& run);

/// Whether a member is a map: the role has settings.
bool areal_has_role(const syntax::SettingTree& tree, const std::string& role);

/// The engine of a role; REQUIRES that it is there.
const ArealEngine& areal_engine_of(const std::vector<ArealEngine>& engines, std::string_view role);

/// Whether rollout and actor share their GPUs, so that one leaves them for the other.
bool areal_is_colocated(const std::vector<ArealEngine>& engines);

}  // namespace dovetail::trainers
