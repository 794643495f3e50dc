// What a simulation played, as a timeline.
#pragma once

#include <string>
#include <vector>

#include "simulate/trace.h"
#include "timeline/timeline.h"

namespace dovetail::simulate {

/// A bar a span, a lane for devices that do the same, behind them the links to host memory; counters are the bytes that
/// each device holds. Times are ns. `tasks`: [Span::task] the task's track, whose model is the role that it serves.
/// `repeats`: the end of the iteration joins its beginning; false: iterations never became steady.
timeline::Timeline iteration_timeline(const Trace& trace, std::vector<timeline::Track> tasks, std::string title,
                                      bool repeats);

}  // namespace dovetail::simulate
