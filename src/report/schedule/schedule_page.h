// HTML report pages of a schedule and of a Chrome trace.
#pragma once

#include <string>

#include "pipeline/schedule/schedule.h"
#include "report/page/page.h"

namespace dovetail::report {

/// Builds the page of a schedule: makespan with its lower bound, idle share and peak activation, then the chart with
/// capacities, time use, idle time by cause, and the longest waits. REQUIRES: the schedule is valid.
Page schedule_page(const pipeline::Schedule& schedule, std::string title);

/// Builds the page of a trace: its length, the chart, and time use. Times are shown in microseconds.
Page trace_page(timeline::Timeline trace, std::string title);

}  // namespace dovetail::report
