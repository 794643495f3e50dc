// Settings of NeMo-RL that change time or memory and that jobs and plans do not have, and settings without effect.
#pragma once

#include <string>

#include "base/result.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"

namespace dovetail::trainers {

/// Adds a Finding to `not_modelled` for each such setting that has another value than the one that is modelled, and to
/// `ignored` for each that NeMo-RL accepts and does not heed. `loop` is "grpo" or "ppo"; `run` is read but for that. An
/// Error where one is unknown.
base::Status add_nemo_rl_watched(const syntax::SettingTree& tree, const std::string& loop, ImportedRun& run);

}  // namespace dovetail::trainers
