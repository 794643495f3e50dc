// Reader, writer, flags and log format of OpenRLHF (OpenRLHF/OpenRLHF).
//
// Implements the rules of openrlhf/cli/train_ppo_ray.py and openrlhf/trainer at 3c3be623. docs/trainer-openrlhf.md
// summarizes them.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "syntax/arguments.h"
#include "syntax/tree.h"
#include "trainers/export/trainer_writer.h"
#include "trainers/import/imported_run.h"
#include "trainers/import/trainer_reader.h"
#include "trainers/logs/console.h"
#include "trainers/logs/log_keys.h"

namespace dovetail::trainers {

/// Commit of OpenRLHF whose flags and rules are implemented.
inline constexpr std::string_view openrlhf_version = "3c3be623";

/// Returns the flags of the PPO trainer with their defaults and older names. Since ed62d0e2 (April 2026), most names
/// begin with a group and a dot: `--actor.num_nodes` was `--actor_num_nodes`.
std::span<const syntax::Flag> openrlhf_flags();

/// Reads OpenRLHF's launch scripts. Returns an Error at a flag that OpenRLHF rejects, or whose value is needed but
/// unknown. Also returns an Error if OpenRLHF would stop at startup, or if a job cannot describe the model or trainer.
extern const TrainerReader openrlhf_reader;

/// Writes plans as OpenRLHF flags, and jobs as complete launch scripts. Returns an Error if OpenRLHF cannot run the
/// job, or if a file without a base cannot express it.
extern const TrainerWriter openrlhf_writer;

/// Returns the keys of OpenRLHF's logs (openrlhf/trainer/{ppo_trainer,ppo_trainer_async}.py): `timing/...` in seconds.
/// Trackers prepend `train/`.
const LogKeys& openrlhf_log_keys();

/// Reads console output (openrlhf/utils/logging_utils.py): "Global step 12: {'timing/generation': 30.1, ...}".
LineReader openrlhf_line_reader();

/// Completes an imported run. Adds to `not_modelled` the flags that affect time or memory but are not modeled. Adds to
/// `ignored` the flags without effect. Sets the gradient type and whether the loss computes entropy. Returns an Error
/// at a flag whose value is unknown.
base::Status add_openrlhf_unmodeled(const syntax::SettingTree& tree, ImportedRun& run);

}  // namespace dovetail::trainers
