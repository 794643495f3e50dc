// What flags of slime change that is not in job and plan, and what they do not change.
#pragma once

#include "base/result.h"
#include "llm/transformer.h"
#include "syntax/tree.h"
#include "trainers/import/imported_run.h"

namespace dovetail::trainers {

/// Adds to `not_modelled` and `ignored` of a run that has been read from the settings; `async` is of train_async.py,
/// `model` the actor's.
base::Status add_slime_watched(const syntax::SettingTree& tree, bool async, const llm::Transformer& model,
                               ImportedRun& run);

}  // namespace dovetail::trainers
