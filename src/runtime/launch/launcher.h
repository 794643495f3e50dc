// dovetail-train launch: the ranks of a job as processes of this machine.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"

namespace dovetail::runtime {

struct LaunchArguments {
  int ranks = 1;
  std::vector<std::string> command;  ///< a rank command of this program and its arguments
  /// For so long a rank may give no sign of life.
  std::chrono::steady_clock::duration timeout = std::chrono::minutes(10);
};

/// Holds the job's store, starts the ranks and waits until all have ended. What rank 0 prints goes on as it is; each
/// line of the others, and of the errors of all, begins with the rank. On a terminal rank 0 has its line of progress.
///
/// The first rank that fails ends all: SIGTERM, after five seconds SIGKILL. So do SIGINT and SIGTERM, which go to all
/// ranks once; a second one kills them. No process of a rank's group is left, also where this process is killed.
///
/// The Error is that of the first rank: what it said, or the signal that it was ended by, with its resident memory and
/// what its plan predicts, or its exit code; or that it gave no sign of life. A rank that is lost is said with its
/// phase.
base::Status launch(const LaunchArguments& arguments);

}  // namespace dovetail::runtime
