// Plans as flags of slime (docs/trainer-slime.md).
#pragma once

#include "trainers/export/change.h"

namespace dovetail::trainers {

extern const TrainerWriter slime_writer;

}  // namespace dovetail::trainers
