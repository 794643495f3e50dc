// The settings of a run of verl as a run: what it trains, on what, and how each task is laid out.
//
// The rules are those of verl's V1 trainer (verl/trainer/ppo/v1, verl/workers): docs/trainer-verl.md has them all.
#pragma once

#include "base/result.h"
#include "trainers/import/imported_run.h"
#include "trainers/import/options.h"
#include "trainers/syntax/files.h"
#include "trainers/verl/settings.h"

namespace dovetail::trainers {

struct VerlRequest {
  ImportOptions options;
  FileReader read;   ///< for the config.json of models
  std::string name;  ///< of the job
};

/// What a run with these settings is. An Error at its key where a setting that matters is unknown or none that verl
/// accepts, where verl would stop at start, or where a model, an engine or a trainer is one that jobs do not have.
base::Result<ImportedRun> verl_run(const VerlSettings& settings, const VerlRequest& request);

}  // namespace dovetail::trainers
