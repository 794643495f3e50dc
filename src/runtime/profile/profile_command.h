// dovetail-train profile: measures what a job's models, and this machine, take.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "runtime/ranks/run_rank.h"
#include "transport/transport.h"

namespace dovetail::runtime {

struct ProfileArguments {
  std::string job;                                                ///< file or folder
  std::string output;                                             ///< a dovetail/profile@2 file
  int threads = 1;                                                ///< of each rank
  transport::Clock::duration timeout = std::chrono::minutes(10);  ///< of each wait of a rank for the others
};

/// Whether the job's models can be measured: the Error that each rank would have.
base::Status check_profile(const ProfileArguments& arguments);

/// Measures on one rank, or as the rank that the environment says, and gives the exit code. Rank 0 writes the file. All
/// ranks compute at once, as in a run.
int run_profile(const ProfileArguments& arguments);

}  // namespace dovetail::runtime
