// A simulated iteration as a page of the HTML report.
#pragma once

#include "report/iteration_picture.h"
#include "report/page.h"

namespace dovetail::report {

/// The trace as a chart: a row for devices that do the same, a category for each activity of each task and each cause of idle time, with
/// the tasks' colours. A bar says how many sequences it has, or the number of its micro-batch, and how long it waits for launches. Curves
/// are the bytes that the work itself holds on each device.
Chart iteration_chart(const IterationPicture& picture, std::string title);

/// The chart, where the devices' time goes and what idle time is lost to. Callers add figures, ranked alternatives (Table) and sweeps
/// (LineChart) to the sections.
Page iteration_page(const IterationPicture& picture);

}  // namespace dovetail::report
