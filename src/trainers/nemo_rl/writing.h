// Plans as settings of NeMo-RL (docs/trainer-nemo-rl.md).
#pragma once

#include "trainers/export/change.h"

namespace dovetail::trainers {

extern const TrainerWriter nemo_rl_writer;

}  // namespace dovetail::trainers
