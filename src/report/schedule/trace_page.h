// A Chrome trace as a page of the HTML report.
#pragma once

#include <string>

#include "report/page/page.h"

namespace dovetail::report {

/// How long the trace lasts, the chart, where the time goes. All times are shown in microseconds.
Page trace_page(timeline::Timeline trace, std::string title);

}  // namespace dovetail::report
