// Reader, writer, settings and log format of AReaL (inclusionAI/AReaL).
//
// Implements the rules of areal/trainer/rl_trainer.py, areal/api and areal/engine. docs/trainer-areal.md summarizes
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trainers/export/trainer_writer.h"
#include "trainers/import/composed.h"
#include "trainers/import/trainer_reader.h"
#include "trainers/logs/console.h"
#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// Version of AReaL whose defaults are bundled.
inline constexpr std::string_view areal_version = "AReaL 4aef98d8d";

/// Reads AReaL's launch scripts and configurations of PPO and its variants. Returns an Error at the key of a setting
/// that AReaL rejects, or whose value is needed but unknown. Also returns an Error if AReaL would stop at startup, or
/// if a job cannot describe the model, engine or loop.
extern const TrainerReader areal_reader;

/// Writes plans as AReaL settings, and jobs as complete configurations. Returns an Error if AReaL cannot run the job,
/// or if a file without a base cannot express it.
extern const TrainerWriter areal_writer;

/// Returns the keys of AReaL's logs (areal/utils/stats_logger.py): `timeperf/...` in seconds. No key times the whole
/// iteration. Its time is the sum of all phases and other parts, because one loop runs them in sequence.
const LogKeys& areal_log_keys();

/// Reads console output (areal/utils/printing.py): the tables of statistics below each "... Train step 12/100 done.".
/// Their cells alternate between keys and numbers.
LineReader areal_line_reader();

/// Returns the text of trainers/areal/defaults/ppo.yaml, which the build embeds in the library
/// (cmake/EmbedTexts.cmake).
std::string_view areal_ppo_defaults();

/// Returns whether the command runs one of AReaL's launchers, which start a user's program.
bool is_areal_entry(const syntax::EntryPoint& entry);
/// Returns whether the command runs a Python script with `--config`, which may be a user's program that starts an AReaL
/// trainer.
bool may_be_areal_entry(const syntax::EntryPoint& entry);

/// Reads the settings of a launch: `--config FILE` and Hydra overrides, merged over AReaL's defaults. The file is
/// looked up in the working directory of the launch, then in the root folder. Returns an Error if there is no file, or
/// if an override changes a key that the file does not have.
base::Result<ComposedSettings> areal_settings_of_launch(const syntax::Launch& launch,
                                                        const std::vector<std::string>& sources,
                                                        const RunRequest& request);

/// Reads the settings of a file, which may be one that AReaL saved. `request.options.arguments` are overrides.
base::Result<ComposedSettings> areal_settings_of_file(const ConfigurationFile& file, const RunRequest& request);

/// Returns AReaL's defaults. They include a critic, but no reference. A reference's settings default to the actor's.
base::Result<syntax::Setting> areal_defaults();

}  // namespace dovetail::trainers
