// Plans as settings of verl (docs/trainer-verl.md).
#pragma once

#include "trainers/export/change.h"

namespace dovetail::trainers {

extern const TrainerWriter verl_writer;

}  // namespace dovetail::trainers
