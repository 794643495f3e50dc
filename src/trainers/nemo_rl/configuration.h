// The settings of a run of NeMo-RL as a run: what it trains, on what, and how each task is laid out.
//
// The rules are those of nemo_rl/algorithms/{grpo,ppo}.py and nemo_rl/models: docs/trainer-nemo-rl.md has them all.
#pragma once

#include "trainers/import/trainer_reader.h"

namespace dovetail::trainers {

/// NeMo-RL's launch scripts and configurations of GRPO and PPO. An Error at its key where a setting that matters is
/// unknown or none that NeMo-RL accepts, where NeMo-RL would stop at start, or where a model, an engine or a loop is
/// one that jobs do not have.
extern const TrainerReader nemo_rl_reader;

}  // namespace dovetail::trainers
