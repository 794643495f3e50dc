// All settings of a run of NeMo-RL: its file, those that the file begins from, and what the command line changes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trainers/import/composed.h"

namespace dovetail::trainers {

/// Of which version the bundled files are that others begin from.
inline constexpr std::string_view nemo_rl_version = "NeMo-RL 7ea279abf";

/// Whether Python is asked to run a program of NeMo-RL's, of whatever kind.
bool is_nemo_rl_entry(const syntax::EntryPoint& entry);

/// The settings of a launch: `--config FILE`, else the program's own, and Hydra's overrides. Files are found from the
/// folder that it is started in, or from the root; one that is not there is the bundled file of its name. An Error
/// where it is another program than those of GRPO and PPO, or an override changes what the file does not have.
base::Result<ComposedSettings> nemo_rl_settings_of_launch(const syntax::Launch& launch,
                                                          const std::vector<std::string>& sources,
                                                          const RunRequest& request);

/// The settings of a file: the options' arguments are overrides.
base::Result<ComposedSettings> nemo_rl_settings_of_file(const ConfigurationFile& file, const RunRequest& request);

}  // namespace dovetail::trainers
