// A schedule as a page of the HTML report.
#pragma once

#include <string>

#include "pipeline/schedule/schedule.h"
#include "report/page/page.h"

namespace dovetail::report {

/// Makespan beside its proven bound, idle share, peak of activation beside the capacity, the chart, where the devices'
/// time goes, what the idle time waits for, and the longest waits. REQUIRES: validate finds nothing in the schedule.
Page schedule_page(const pipeline::Schedule& schedule, std::string title);

}  // namespace dovetail::report
