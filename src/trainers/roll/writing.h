// Plans as settings of ROLL (docs/trainer-roll.md).
#pragma once

#include "trainers/export/change.h"

namespace dovetail::trainers {

extern const TrainerWriter roll_writer;

}  // namespace dovetail::trainers
