// A profile as a file.
#pragma once

#include <string>
#include <vector>

#include "cost/profile.h"
#include "llm/computation.h"
#include "runtime/profile/machine_times.h"

namespace dovetail::runtime {

/// What was measured, and where.
struct MeasuredMachine {
  cost::Profile profile;
  std::vector<llm::Computation> computations;  ///< [layer] of its model
  std::string gpu;                             ///< what the machine's processor is called in jobs
  int ranks = 1;                               ///< that share the machine
  std::int64_t memory = 0;                     ///< bytes of a rank
  RankSpeed speed;                             ///< of a rank, while all work
};

/// A dovetail/profile@2 file with its cluster, JSON. Seconds and bandwidths have four digits.
std::string profile_text(const MeasuredMachine& measured);

}  // namespace dovetail::runtime
