// Schedules replayed by processes: dovetail-train has the ranks.
#pragma once

#include "answer/runs/replay.h"

namespace dovetail::cli {

/// Runs `dovetail-train launch -- stub` on the schedule, whose times are in ns, and gives the times that it leaves. Its
/// messages go to standard error. An Error where the program is missing, cannot do it or fails: Failure::lost where it
/// says that a rank was lost, Failure::interrupted where it was interrupted.
base::Result<execute::ReplayTimes> launch_replay(const pipeline::Schedule& schedule, const answer::ReplayRun& run);

}  // namespace dovetail::cli
