// All settings of a run of ROLL: its file, what the file's `defaults` name, and overrides.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trainers/import/composed.h"

namespace dovetail::trainers {

/// Of which version the rules are that configurations are read by.
inline constexpr std::string_view roll_version = "8eb27cc2";

/// Whether Python is asked to run a program of ROLL's, of whatever kind: `start_..._pipeline.py`.
bool is_roll_entry(const syntax::EntryPoint& entry);

/// The settings of a launch: the file that `--config_path`, from the program's folder, and `--config_name` say. An
/// Error where it is another program than those of RLVR, where it has words that it would stop at, or where the file
/// is not below the root.
base::Result<ComposedSettings> roll_settings_of_launch(const syntax::Launch& launch,
                                                       const std::vector<std::string>& sources,
                                                       const RunRequest& request);

/// The settings of a file: the options' arguments are overrides.
base::Result<ComposedSettings> roll_settings_of_file(const ConfigurationFile& file, const RunRequest& request);

/// An Error where the settings are those of another pipeline than RLVR's, which says what jobs do not have of it.
base::Status check_roll_pipeline(const syntax::SettingTree& tree);

}  // namespace dovetail::trainers
