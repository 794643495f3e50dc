// What ranks did in a phase, as a timeline.
#pragma once

#include <string>
#include <vector>

#include "execute/replay_figures.h"
#include "timeline/timeline.h"

namespace dovetail::execute {

/// The ops of `problem` as they were measured, [rank]: a lane a rank, called like the device of that number, up to the
/// end of the last op; between them bubbles. Times in ns, shown in ms.
timeline::Timeline measured_timeline(const pipeline::Problem& problem, const std::vector<std::vector<ReplayedOp>>& ops,
                                     std::string title);

}  // namespace dovetail::execute
