// Types and shard groups of what ROLL trains.
#pragma once

#include "base/result.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"

namespace dovetail::trainers {

/// Gives the run the types and shard groups of the actor on so many GPUs, and of the critic on so many (0: there is
/// none), as take_types does. An Error at a type that is none.
base::Status add_roll_types(const syntax::SettingTree& tree, int actors, int critics, ImportedRun& run);

}  // namespace dovetail::trainers
