// Settings of verl that change time or memory and that jobs and plans do not have, and settings without effect.
#pragma once

#include "base/result.h"
#include "trainers/import/imported_run.h"
#include "trainers/verl/settings.h"

namespace dovetail::trainers {

/// Adds a Finding to `not_modelled` for each such setting that has another value than the one that is modelled, and to
/// `ignored` for each that verl accepts and does not heed. `run` is read but for that. An Error where one is unknown.
base::Status add_watched(const VerlSettings& settings, ImportedRun& run);

}  // namespace dovetail::trainers
