// Starts dovetail-train, the program that computes with tensors and starts the processes of ranks.
#pragma once

#include <string>
#include <vector>

#include "answer/runs/replay.h"
#include "base/result.h"

namespace dovetail::cli {

/// Returns the path of dovetail-train: next to this program, otherwise on the PATH. If it is in neither place, the
/// Error lists the packages to install.
base::Result<std::string> find_runtime();

/// Replaces this process with the program at the path arguments[0], and passes it the other arguments. Returns only on
/// failure.
base::Error become_program(std::vector<std::string> arguments);

/// Replays `schedule`, whose times are in ns, with `dovetail-train launch -- stub` and returns the measured times. The
/// program's output goes to stderr. Returns an Error if the program is missing or fails: Failure::lost if it lost a
/// rank, Failure::interrupted if it was interrupted.
base::Result<execute::ReplayTimes> launch_replay(const pipeline::Schedule& schedule, const answer::ReplayRun& run);

}  // namespace dovetail::cli
