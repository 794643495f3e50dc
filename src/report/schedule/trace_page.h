// A Chrome trace as a page of the HTML report.
#pragma once

#include <string>

#include "report/page/page.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::report {

/// The trace as a chart: a row for each level of each thread. Slices whose names differ in numbers only are of one category; those that
/// take most of the time have one of their own, the rest share one, idle time another. Slices of the category "idle" are idle time.
/// Counters become curves, the first of each lane.
Chart trace_chart(const timeline::ChromeTrace& trace, std::string title);

/// The whole page: how long it lasts, the chart, where the time goes.
Page trace_page(const timeline::ChromeTrace& trace, std::string title);

}  // namespace dovetail::report
