// What flags of OpenRLHF change that is not in job and plan, and what they do not change.
#pragma once

#include "base/result.h"
#include "trainers/import/imported_run.h"
#include "trainers/syntax/tree.h"

namespace dovetail::trainers {

/// Adds to `not_modelled` and `ignored` of a run that has been read from the settings.
base::Status add_openrlhf_watched(const SettingTree& tree, ImportedRun& run);

}  // namespace dovetail::trainers
