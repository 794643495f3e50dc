// Reader, writer, settings and log format of ROLL (alibaba/ROLL).
//
// Implements the rules of roll/configs, roll/pipeline/rlvr and roll/distributed/strategy. docs/trainer-roll.md
// summarizes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "syntax/tree.h"
#include "trainers/export/trainer_writer.h"
#include "trainers/import/composed.h"
#include "trainers/import/imported_run.h"
#include "trainers/import/trainer_reader.h"
#include "trainers/logs/console.h"
#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// Reads launch scripts and configurations of ROLL's RLVR pipelines, for text and for images. Returns an Error at the
/// key of a setting that ROLL rejects, or whose value is needed but unknown. Also returns an Error if ROLL would stop
/// at startup, if a role's GPUs are not consecutive, or if a job cannot describe the model, strategy or pipeline.
extern const TrainerReader roll_reader;

/// Writes plans as ROLL settings, and jobs as complete configurations. Returns an Error if ROLL cannot run the job, or
/// if a file without a base cannot express it.
extern const TrainerWriter roll_writer;

/// Returns the keys of ROLL's logs (roll/pipeline/{rlvr,agentic}): `time/...` in seconds. With each step, the RLVR
/// pipeline logs the total time of the previous step.
const LogKeys& roll_log_keys();

/// Reads two forms of log (roll/utils/tracking.py). In the first, the pipeline logs an object of metrics. Its step is
/// `system/step`, otherwise from the preceding "pipeline step 12 start" or "global step 12 start", otherwise the number
/// of the object, from 1. In the second, it logs "metrics_tag: {"step": 12, "metrics": {...}}".
LineReader roll_line_reader();

/// Commit of ROLL whose rules are implemented.
inline constexpr std::string_view roll_version = "8eb27cc2";

/// Returns whether the command runs any of ROLL's programs, `start_..._pipeline.py`.
bool is_roll_entry(const syntax::EntryPoint& entry);

/// Reads the settings of a launch: the file given by `--config_path`, relative to the program's folder, and
/// `--config_name`. Returns an Error for programs other than those of RLVR, for arguments at which the program would
/// stop, and for a file outside the root folder.
base::Result<ComposedSettings> roll_settings_of_launch(const syntax::Launch& launch,
                                                       const std::vector<std::string>& sources,
                                                       const RunRequest& request);

/// Reads the settings of a file. `request.options.arguments` are overrides.
base::Result<ComposedSettings> roll_settings_of_file(const ConfigurationFile& file, const RunRequest& request);

/// Returns an Error if the settings belong to a pipeline other than RLVR. The message names the feature that jobs
/// cannot describe.
base::Status check_roll_pipeline(const syntax::SettingTree& tree);

/// Returns an Error at the key of a setting for which the RLVR pipeline would stop before its first step. Does not
/// check layouts, which roll_layout checks. Sources: roll/configs/{base_config,worker_config}.py,
/// roll/pipeline/rlvr/rlvr_config.py and roll/distributed/strategy.
base::Status check_roll_start(const syntax::SettingTree& tree);

/// Completes an imported run. Adds to `not_modelled` the settings that affect time or memory but are not modeled,
/// settings passed through to a strategy, and behavior of ROLL that plans cannot express. Adds to `ignored` the
/// settings without effect. Sets the run's data types and engine. `judge` is the role of the reward model that uses
/// GPUs, or empty. Returns an Error at a setting whose value is unknown.
base::Status add_roll_unmodeled(const syntax::SettingTree& tree, const std::string& judge, ImportedRun& run);

}  // namespace dovetail::trainers
