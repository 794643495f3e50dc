// What stops AReaL at start, or leaves it without a batch for ever.
#pragma once

#include <vector>

#include "base/result.h"
#include "syntax/tree.h"
#include "trainers/areal/engines.h"
#include "trainers/import/imported_run.h"

namespace dovetail::trainers {

/// An Error at the key of the first such setting, but for those of engines and units. `run` has the workload.
base::Status check_areal_start(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines,
                               const ImportedRun& run);

}  // namespace dovetail::trainers
