// Reader, writer, settings and log format of verl (verl-project/verl).
//
// Implements the rules of verl's V1 trainer (verl/trainer/ppo/v1, verl/workers). docs/trainer-verl.md summarizes them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "syntax/shell/launch.h"
#include "syntax/tree.h"
#include "trainers/export/trainer_writer.h"
#include "trainers/import/imported_run.h"
#include "trainers/import/trainer_reader.h"
#include "trainers/logs/console.h"
#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// Version of verl whose defaults are bundled.
inline constexpr std::string_view verl_defaults_version = "v0.9 (1dda039b9)";

/// Reads verl's launch scripts and configurations. Returns an Error at the key of a setting that verl rejects, or whose
/// value is needed but unknown. Also returns an Error if verl would stop at startup, or if a job cannot describe the
/// model, engine or trainer.
extern const TrainerReader verl_reader;

/// Writes plans as verl settings, and jobs as complete launch scripts. Returns an Error if verl cannot run the job, or
/// if a file without a base cannot express it.
extern const TrainerWriter verl_writer;

/// Returns the keys of verl's logs (verl/trainer/ppo/metric_utils.py, verl/experimental): `timing_s/...`, in seconds,
/// from all of its trainers; `timing/...` from old versions.
const LogKeys& verl_log_keys();

/// Reads the output of the console logger (verl/utils/logger/aggregate_logger.py): "step:1 - timing_s/gen:12.3 - ...".
/// The record may begin anywhere in a line.
LineReader verl_line_reader();

/// Training backend. verl reads different settings for each.
enum class VerlEngine { fsdp, megatron };

/// Returns verl's defaults for a backend. Values have no place in a source, and interpolations are not resolved.
const syntax::Setting& verl_defaults(VerlEngine engine);

// Return the texts of trainers/verl/defaults, which the build embeds in the library (cmake/EmbedTexts.cmake).
std::string_view verl_common_defaults();
std::string_view verl_fsdp_defaults();
std::string_view verl_megatron_defaults();

/// Returns whether the bundled defaults omit the setting although verl has it. Most omitted settings affect neither
/// time nor memory, such as those of profiling, checkpoints and tracing.
bool is_left_out(std::string_view key);

/// Settings of a run, from a launch script or a file, merged over verl's defaults.
struct VerlSettings {
  syntax::SettingTree tree;  ///< with interpolations resolved; defaults are at line 0
  VerlEngine engine = VerlEngine::fsdp;
  std::vector<Finding> assumed;
  std::vector<Finding> ignored;  ///< settings that verl does not have
};

/// Returns whether the command runs any of verl's trainers.
bool is_verl_entry(const syntax::EntryPoint& entry);

/// Reads the settings of a launch, whose arguments are Hydra overrides. Settings with names from older versions are
/// moved to their current names. Returns an Error for a trainer other than main_ppo and main_ppo_v0, for a
/// configuration other than ppo_trainer and ppo_megatron_trainer, and for an unknown model_engine.
base::Result<VerlSettings> settings_of_launch(const syntax::Launch& launch, const std::vector<std::string>& sources,
                                              const std::map<std::string, std::string>& environment);

/// Returns whether a map is a verl configuration: Hydra's resolved config.yaml, or W&B's form of it, in which each
/// member is below a `value`.
bool is_verl_configuration(const syntax::Setting& root);

/// Reads the settings of the verl configuration `root`. `source` is the file that contains it.
base::Result<VerlSettings> settings_of_configuration(syntax::Setting root, const std::string& source,
                                                     const std::map<std::string, std::string>& environment);

/// Returns the current name of a setting, given its current or an older name.
std::string present_key(std::string_view key);

/// Completes an imported run. Adds to `not_modelled` the settings that affect time or memory but are not modeled. Adds
/// to `ignored` the settings without effect. Sets the run's data types, engine and optimizer share on the host. Returns
/// an Error at a setting whose value is unknown.
base::Status add_verl_unmodeled(const VerlSettings& settings, ImportedRun& run);

}  // namespace dovetail::trainers
