// Plans as flags of OpenRLHF (docs/trainer-openrlhf.md).
#pragma once

#include "trainers/export/change.h"

namespace dovetail::trainers {

extern const TrainerWriter openrlhf_writer;

}  // namespace dovetail::trainers
