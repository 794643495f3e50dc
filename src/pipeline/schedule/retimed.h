// A schedule whose ops take other times than those that it was made for.
#pragma once

#include "base/result.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

/// The ops of `schedule` in their order on each device, with the times of `problem`, each as early as that order
/// allows. Claims hold its makespan and peak. An Error where `problem` is none (find_fault). REQUIRES:
/// validate(schedule) found nothing; `problem` is its own but for times and capacity.
base::Result<Schedule> retimed(const Schedule& schedule, const Problem& problem);

}  // namespace dovetail::pipeline
