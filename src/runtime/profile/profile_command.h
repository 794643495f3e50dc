// dovetail-train profile: measures the times of a job's models on this machine.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cost/profile.h"
#include "llm/computation.h"
#include "runtime/profile/measured_times.h"
#include "runtime/ranks/run_rank.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// Measurements, and the machine they are from.
struct MeasuredMachine {
  cost::Profile profile;
  std::vector<llm::Computation> computations;  ///< [layer profile] of its model
  std::string gpu;                             ///< name of the machine's processor in jobs
  int ranks = 1;                               ///< number of ranks that share the machine
  std::int64_t memory = 0;                     ///< bytes per rank
  RankSpeed speed;                             ///< of a rank, while all are busy
};

/// Returns a dovetail/profile@2 file with its cluster, as JSON. Seconds and bandwidths have four significant digits.
std::string profile_text(const MeasuredMachine& measured);

struct ProfileArguments {
  std::string job;                                                ///< file or folder
  std::string output;                                             ///< file in dovetail/profile@2 format
  int threads = 1;                                                ///< per rank
  transport::Clock::duration timeout = std::chrono::minutes(10);  ///< limit of each wait for another rank
};

/// Returns the Error of every rank if the job's models cannot be measured.
base::Status check_profile(const ProfileArguments& arguments);

/// Measures on one rank, or as the rank found in the environment. Returns the exit code. Rank 0 writes the file. All
/// ranks compute at once, as in a run.
int run_profile(const ProfileArguments& arguments);

}  // namespace dovetail::runtime
