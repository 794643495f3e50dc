// What flags of OpenRLHF change that is not in job and plan, and what they do not change.
#pragma once

#include "base/result.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"

namespace dovetail::trainers {

/// Adds to `not_modelled` and `ignored` of a run that has been read from the settings.
base::Status add_openrlhf_watched(const syntax::SettingTree& tree, ImportedRun& run);

}  // namespace dovetail::trainers
