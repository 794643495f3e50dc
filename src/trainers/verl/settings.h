// All settings of a run of verl: what a launch script or a file says, over verl's defaults.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "syntax/shell/launch.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"
#include "trainers/verl/defaults.h"

namespace dovetail::trainers {

struct VerlSettings {
  syntax::SettingTree tree;  ///< without interpolations; what has line 0 is a default
  VerlEngine engine = VerlEngine::fsdp;
  std::vector<Finding> assumed;
  std::vector<Finding> ignored;  ///< settings that verl does not have
};

/// Whether Python is asked to run a trainer of verl, of whatever kind.
bool is_verl_entry(const syntax::EntryPoint& entry);

/// The settings of a launch: its words are Hydra's overrides. Settings by names of older versions are taken by their
/// present ones. An Error where it is another trainer than main_ppo, or its configuration is another than
/// ppo_trainer's.
base::Result<VerlSettings> settings_of_launch(const syntax::Launch& launch, const std::vector<std::string>& sources,
                                              const std::map<std::string, std::string>& environment);

/// Whether a map is a configuration of verl: resolved, as Hydra's config.yaml, or as W&B keeps it, each part of it
/// under a `value`.
bool is_verl_configuration(const syntax::Setting& root);

/// The settings of such a map, which stands in the file `source`.
base::Result<VerlSettings> settings_of_configuration(syntax::Setting root, const std::string& source,
                                                     const std::map<std::string, std::string>& environment);

/// The present name of a setting.
std::string present_key(std::string_view key);

}  // namespace dovetail::trainers
