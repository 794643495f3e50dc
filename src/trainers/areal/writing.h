// Plans as settings of AReaL (docs/trainer-areal.md).
#pragma once

#include "trainers/export/change.h"

namespace dovetail::trainers {

extern const TrainerWriter areal_writer;

}  // namespace dovetail::trainers
