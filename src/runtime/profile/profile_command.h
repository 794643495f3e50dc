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

/// Measurements, and the machine on which they were made.
struct MeasuredMachine {
  cost::Profile profile;
  std::vector<llm::Computation> computations;  ///< [layer profile] computation of its model
  std::string gpu;                             ///< name of the processor, as in the job's cluster
  int ranks = 1;                               ///< number of ranks that share the machine
  std::int64_t memory = 0;                     ///< memory per rank, in bytes
  RankSpeed speed;                             ///< speed of a rank while all ranks are busy
};

/// Returns the JSON text of a dovetail/profile@2 file that includes the machine as a cluster. Seconds and bandwidths
/// have four significant digits.
std::string profile_text(const MeasuredMachine& measured);

struct ProfileArguments {
  std::string job;                                                ///< file or folder
  std::string output;                                             ///< file in dovetail/profile@2 format
  int threads = 1;                                                ///< threads per rank
  transport::Clock::duration timeout = std::chrono::minutes(10);  ///< limit of each wait for another rank
};

/// Returns an Error if the job's models cannot be measured. A launcher calls this before it starts the ranks, so that
/// the error is reported only once.
base::Status check_profile(const ProfileArguments& arguments);

/// Measures as the only rank, or as the rank specified by environment variables. Returns the exit code. All ranks
/// compute at the same time, as in a run. Rank 0 writes the file.
int run_profile(const ProfileArguments& arguments);

}  // namespace dovetail::runtime
