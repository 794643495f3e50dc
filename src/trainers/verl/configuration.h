// The settings of a run of verl as a run: what it trains, on what, and how each task is laid out.
//
// The rules are those of verl's V1 trainer (verl/trainer/ppo/v1, verl/workers): docs/trainer-verl.md has them all.
#pragma once

#include "trainers/import/imported_run.h"
#include "trainers/import/trainer_reader.h"

namespace dovetail::trainers {

/// verl's launch scripts and configurations. An Error at its key where a setting that matters is unknown or none that
/// verl accepts, where verl would stop at start, or where a model, an engine or a trainer is one that jobs do not have.
extern const TrainerReader verl_reader;

}  // namespace dovetail::trainers
