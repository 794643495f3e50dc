// The settings of a run of AReaL as a run: what it trains, on what, and how each task is laid out.
//
// The rules are those of areal/trainer/rl_trainer.py, areal/api and areal/engine: docs/trainer-areal.md has them all.
#pragma once

#include "trainers/import/trainer_reader.h"

namespace dovetail::trainers {

/// AReaL's launch scripts and configurations of PPO and its kin. An Error at its key where a setting that matters is
/// unknown or none that AReaL accepts, where AReaL would stop at start, or where a model, an engine or a loop is one
/// that jobs do not have.
extern const TrainerReader areal_reader;

}  // namespace dovetail::trainers
