// Settings of AReaL that change time or memory and that jobs and plans do not have, and settings without effect.
#pragma once

#include <vector>

#include "base/result.h"
#include "llm/transformer.h"
#include "syntax/tree.h"
#include "trainers/areal/engines.h"
#include "trainers/import/imported_run.h"

namespace dovetail::trainers {

/// Adds a Finding to `not_modelled` for each such setting that has another value than the one that is modelled, and to
/// `ignored` for each that AReaL accepts and does not heed, or that it does not have. An Error where one is unknown.
base::Status add_areal_watched(const syntax::SettingTree& tree, const std::vector<ArealEngine>& engines,
                               const llm::Transformer& model, ImportedRun& run);

}  // namespace dovetail::trainers
