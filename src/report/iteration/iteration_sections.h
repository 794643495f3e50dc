// A simulated iteration as sections of the HTML report.
#pragma once

#include "report/iteration/iteration_picture.h"
#include "report/page/page.h"

namespace dovetail::report {

/// The trace as a chart: a row for devices that do the same, a category for each activity of each task and each cause of idle time, with
/// the tasks' colours. A bar says how many sequences it has, or the number of its micro-batch, and how long it waits for launches. Curves
/// are the bytes that each device holds. Of traces with too many spans for a page short ones are made one (thinned), and the note says so.
Chart iteration_chart(const IterationPicture& picture, std::string title);

/// What the devices do: a row of all of them together, each counted once, then one of a single device of each lane, in ns. Waiting for
/// launches is idle time here, though bars have it within their work.
Breakdown use_breakdown(const IterationPicture& picture);
/// Idle time alone, by cause, with all of the time as the whole of each row; the idlest lanes first.
Breakdown idle_use_breakdown(const IterationPicture& picture);

}  // namespace dovetail::report
