// Reader, writer, settings and log format of NeMo-RL (NVIDIA-NeMo/RL).
//
// Implements the rules of nemo_rl/algorithms/{grpo,ppo}.py and nemo_rl/models. docs/trainer-nemo-rl.md summarizes them.
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

/// Version of NeMo-RL whose base configurations are bundled.
inline constexpr std::string_view nemo_rl_version = "NeMo-RL 7ea279abf";

/// Reads NeMo-RL's launch scripts and configurations of GRPO and PPO. Returns an Error at the key of a setting that
/// NeMo-RL rejects, or whose value is needed but unknown. Also returns an Error if NeMo-RL would stop at startup, or if
/// a job cannot describe the model, engine or loop.
extern const TrainerReader nemo_rl_reader;

/// Writes plans as NeMo-RL settings, and jobs as complete configurations. Returns an Error if NeMo-RL cannot run the
/// job, or if a file without a base cannot express it.
extern const TrainerWriter nemo_rl_writer;

/// Returns the keys of NeMo-RL's logs: `timing/train/...` in seconds, from GRPO and PPO.
const LogKeys& nemo_rl_log_keys();

/// Reads console output: the list below "Timing:" in each "=== Step 12/100 ===", and the mean generation length.
LineReader nemo_rl_line_reader();

// Returns the texts of trainers/nemo_rl/defaults, which the build embeds in the library (cmake/EmbedTexts.cmake).
std::string_view nemo_rl_grpo_defaults();
std::string_view nemo_rl_ppo_defaults();

/// Returns whether the command runs any of NeMo-RL's programs.
bool is_nemo_rl_entry(const syntax::EntryPoint& entry);

/// Reads the settings of a launch: the file given by `--config`, otherwise the program's default file, with Hydra
/// overrides. Files are looked up in the working directory of the launch, then in the root folder. A bundled file
/// replaces a missing file of the same name. Returns an Error for programs other than those of GRPO and PPO, and for an
/// override of a key that the file does not have.
base::Result<ComposedSettings> nemo_rl_settings_of_launch(const syntax::Launch& launch,
                                                          const std::vector<std::string>& sources,
                                                          const RunRequest& request);

/// Reads the settings of a file. `request.options.arguments` are overrides.
base::Result<ComposedSettings> nemo_rl_settings_of_file(const ConfigurationFile& file, const RunRequest& request);

/// Returns an Error at the key of a setting for which NeMo-RL would stop before its first step. `loop` is "grpo" or
/// "ppo". Does not check whether degrees divide the devices, which nemo_rl_layout checks. Sources:
/// nemo_rl/algorithms/{grpo,ppo}.py, nemo_rl/models/policy/lm_policy.py, nemo_rl/models/{megatron,automodel}/setup.py
/// and nemo_rl/models/generation/vllm/vllm_generation.py.
base::Status check_nemo_rl_start(const ComposedSettings& settings, const std::string& loop);

/// Completes an imported run. Adds to `not_modelled` the settings that affect time or memory but are not modeled. Adds
/// to `ignored` the settings without effect. Sets the run's data types, engine and optimizer share on the host. `loop`
/// is "grpo" or "ppo". Returns an Error at a setting whose value is unknown.
base::Status add_nemo_rl_unmodeled(const syntax::SettingTree& tree, const std::string& loop, ImportedRun& run);

}  // namespace dovetail::trainers
