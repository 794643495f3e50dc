// A schedule as a page of the HTML report.
#pragma once

#include <string>

#include "pipeline/schedule.h"
#include "report/page/page.h"
#include "timeline/timeline.h"

namespace dovetail::report {

/// The timeline as a chart: a category for each kind of work of each pipeline and each cause of idle time that it has; fields micro-batch
/// and stage of work. Curves are the activation held, without capacity.
Chart schedule_chart(const timeline::Timeline& timeline, std::string title);

/// The whole page: makespan beside its proven bound, idle share, peak of activation beside the capacity, the chart, where the devices' time
/// goes, what the idle time waits for, and the longest waits. REQUIRES: validate finds nothing in the schedule.
Page schedule_page(const pipeline::Schedule& schedule, std::string title);

}  // namespace dovetail::report
