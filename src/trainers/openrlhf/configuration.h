// Launch scripts of OpenRLHF as runs: what is trained, on which GPUs, and how each task is laid out.
//
// The rules are those of openrlhf/cli/train_ppo_ray.py and openrlhf/trainer at 3c3be623: docs/trainer-openrlhf.md.
#pragma once

#include "trainers/import/trainer_reader.h"

namespace dovetail::trainers {

/// OpenRLHF's launch scripts. An Error at its flag where a setting that matters is unknown or none that OpenRLHF
/// accepts, where OpenRLHF would stop at start, or where a model or a trainer is one that jobs do not have.
extern const TrainerReader openrlhf_reader;

}  // namespace dovetail::trainers
