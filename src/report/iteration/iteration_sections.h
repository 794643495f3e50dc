// A simulated iteration as sections of the HTML report.
#pragma once

#include <string>
#include <vector>

#include "report/page/page.h"
#include "simulate/trace.h"

namespace dovetail::report {

/// The timeline of an iteration as a chart. Of timelines with too many bars for a page short ones are made one
/// (timeline::thinned), and the note says so.
Chart iteration_chart(timeline::Timeline timeline, std::string title);

/// What the devices do: a row of all of them together, each counted once, then one of a single device of each lane, in
/// ns. Waiting for launches is idle time here, though bars have it within their work. `tasks`: [Span::task] its track.
Breakdown use_breakdown(const simulate::Trace& trace, const std::vector<timeline::Track>& tasks);
/// Idle time alone, by cause, with all of the time as the whole of each row; the idlest lanes first.
Breakdown idle_use_breakdown(const simulate::Trace& trace, const std::vector<timeline::Track>& tasks);

}  // namespace dovetail::report
