// dovetail-train run: a run on one rank or one rank of a run, from its job and plan to its folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "runtime/ranks/run_rank.h"
#include "transport/carrier.h"
#include "transport/collectives.h"
#include "transport/transport.h"

namespace dovetail::runtime {

struct RunArguments {
  std::string job;     ///< file or folder
  std::string plan;    ///< file
  std::string output;  ///< the folder of the run
  bool resume = false;
  std::optional<std::int64_t> iterations;  ///< in place of what the job says
  int threads = 1;
  std::string device = "cpu";                          ///< of find_device
  bool deterministic = false;                          ///< one thread, whatever `threads` says, and sums in order
  std::optional<transport::CarrierKind> carrier = {};  ///< nothing: NCCL between GPUs, else Gloo
  std::optional<transport::CollectiveKind> collectives = {};  ///< nothing: the carrier's usual ones
  std::optional<int> ranks = {};                              ///< the job is run on so many devices, whatever it says
  transport::Clock::duration timeout = std::chrono::minutes(10);  ///< of each wait of a rank for the others
};

/// Trains until the run is done, stopped or fails. Writes the folder of the run, and says on standard error how it
/// goes.
base::Status run_training(const RunArguments& arguments);

/// Whether so many ranks can run it: the Error that each of them would have.
base::Status check_ranks(const RunArguments& arguments, int ranks);

/// The same by one of several ranks. Rank 0 alone reads checkpoints' names, judges, writes and says how it goes; what
/// all ranks read and write lies where each finds it. The watch is told the phase and what the plan predicts.
base::Status run_training_rank(const RunArguments& arguments, RankSession& session);

}  // namespace dovetail::runtime
