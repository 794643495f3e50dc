// Launch scripts of slime as runs: what is trained, on which GPUs, and how each task is laid out.
//
// The rules are those of slime/utils/arguments.py, train.py, train_async.py, slime/ray/placement_group.py and
// slime/backends at 624b824a8: docs/trainer-slime.md.
#pragma once

#include "trainers/import/trainer_reader.h"

namespace dovetail::trainers {

/// slime's launch scripts. An Error at its flag where a setting that matters is unknown or none that slime accepts,
/// where slime would stop at start, or where a model or a trainer is one that jobs do not have.
extern const TrainerReader slime_reader;

}  // namespace dovetail::trainers
