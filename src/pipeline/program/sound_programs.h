// Programs that are proven before anything runs them.
#pragma once

#include <vector>

#include "base/result.h"
#include "pipeline/program/placement.h"
#include "pipeline/program/program.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

/// The programs of a schedule, with what its problem says of steps; `check` finds them sound under each delivery.
/// Errors of `compile`. REQUIRES: validate(schedule) found nothing but its capacity to be exceeded.
base::Result<std::vector<Program>> sound_programs(const Schedule& schedule, const Placement& placement);

}  // namespace dovetail::pipeline
