// All settings of a run of AReaL: its file, what the command line changes, and what holds where both say nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trainers/import/composed.h"

namespace dovetail::trainers {

/// Of which version the defaults are.
inline constexpr std::string_view areal_version = "AReaL 4aef98d8d";

/// Whether Python is asked to run a launcher of AReaL's, which starts the program of a user.
bool is_areal_entry(const syntax::EntryPoint& entry);
/// Whether it is a script with a configuration, as users' programs are that make a trainer of AReaL's.
bool may_be_areal_entry(const syntax::EntryPoint& entry);

/// The settings of a launch: `--config FILE` and Hydra's overrides over AReaL's defaults. The file is found from the
/// folder that it is started in, or from the root. An Error where there is none, or an override changes what the file
/// does not have.
base::Result<ComposedSettings> areal_settings_of_launch(const syntax::Launch& launch,
                                                        const std::vector<std::string>& sources,
                                                        const RunRequest& request);

/// The settings of a file, also of one that AReaL saved: the options' arguments are overrides.
base::Result<ComposedSettings> areal_settings_of_file(const ConfigurationFile& file, const RunRequest& request);

/// AReaL's own settings: a critic's among them, a reference's not (they are the actor's).
base::Result<syntax::Setting> areal_defaults();

}  // namespace dovetail::trainers
