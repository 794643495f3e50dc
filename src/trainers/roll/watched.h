// Settings of ROLL that change time or memory and that jobs and plans do not have, and settings without effect.
#pragma once

#include <string>

#include "base/result.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"

namespace dovetail::trainers {

/// Adds a Finding to `not_modelled` for each such setting that has another value than the one that is modelled, for
/// what is handed on to a strategy unread, and for what ROLL does that plans cannot say; and to `ignored` for each
/// setting that ROLL accepts and does not heed. `judge` is the role that judges on GPUs, or empty; of the
/// rest of `run` types and engine are set. An Error where one is unknown.
base::Status add_roll_watched(const syntax::SettingTree& tree, const std::string& judge, ImportedRun& run);

}  // namespace dovetail::trainers
