#include "pipeline/program/sound_programs.h"

#include "base/assert.h"
#include "pipeline/program/check.h"
#include "pipeline/program/compile.h"

namespace dovetail::pipeline {

base::Result<std::vector<Program>> sound_programs(const Schedule& schedule, const Placement& placement) {
  DOVETAIL_TRY(std::vector<Program> programs, compile(schedule, placement, exchanges_of(schedule.problem)));
  for (const Delivery delivery : deliveries) DOVETAIL_ASSERT(!check(programs, delivery));
  return programs;
}

}  // namespace dovetail::pipeline
