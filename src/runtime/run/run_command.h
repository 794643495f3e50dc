// dovetail-train run: one rank's run, from its job and plan to its folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace dovetail::runtime {

struct RunArguments {
  std::string job;     ///< file or folder
  std::string plan;    ///< file
  std::string output;  ///< the folder of the run
  bool resume = false;
  std::optional<std::int64_t> iterations;  ///< in place of what the job says
  int threads = 1;
  bool deterministic = false;  ///< one thread, whatever `threads` says
};

/// Trains until the run is done, stopped or fails. Writes the folder of the run, and says on standard error how it
/// goes.
base::Status run_training(const RunArguments& arguments);

}  // namespace dovetail::runtime
