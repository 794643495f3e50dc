// The settings of a run of ROLL's RLVR pipeline as a run: what it trains, on what, and how each task is laid out.
//
// The rules are those of roll/configs, roll/pipeline/rlvr and roll/distributed/strategy: docs/trainer-roll.md has them
// all.
#pragma once

#include "trainers/import/trainer_reader.h"

namespace dovetail::trainers {

/// ROLL's launch scripts and configurations of RLVR, of texts and of images. An Error at its key where a setting that
/// matters is unknown or none that ROLL accepts, where ROLL would stop at start, where a role's GPUs are no mesh, or
/// where a model, a strategy or a pipeline is one that jobs do not have.
extern const TrainerReader roll_reader;

}  // namespace dovetail::trainers
