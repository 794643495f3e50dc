// dovetail-train run: executes a run, or one rank of it, from its job and plan.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "runtime/ranks/run_rank.h"
#include "transport/collectives.h"
#include "transport/transport.h"

namespace dovetail::runtime {

struct RunArguments {
  std::string job;     ///< file or folder
  std::string plan;    ///< file
  std::string output;  ///< run directory
  bool resume = false;
  std::optional<std::int64_t> iterations;  ///< overrides the job's number of iterations
  int threads = 1;
  std::string device = "cpu";                          ///< see find_device
  bool deterministic = false;                          ///< one thread, sums in rank order, deterministic GPU operators
  std::optional<transport::CarrierKind> carrier = {};  ///< default: NCCL between GPUs, Gloo otherwise
  std::optional<transport::CollectiveKind> collectives = {};      ///< default: default_collectives(carrier)
  std::optional<int> ranks = {};                                  ///< overrides the number of devices in the job
  transport::Clock::duration timeout = std::chrono::minutes(10);  ///< limit of each wait for another rank
};

/// Trains until the run is done, stopped or failed. Writes the run directory, and reports progress on standard error.
base::Status run_training(const RunArguments& arguments);

/// Returns an Error if this number of ranks cannot run the plan. A launcher calls this before it starts the ranks, so
/// that the error is reported only once.
base::Status check_ranks(const RunArguments& arguments, int ranks);

/// Trains as one of several ranks. Only rank 0 lists checkpoints, runs the reward command, writes metrics and reports
/// progress. Input files and the run directory must be on a file system that all ranks share. Passes the phase and the
/// predicted memory to the monitor.
base::Status run_training_rank(const RunArguments& arguments, RankSession& session);

}  // namespace dovetail::runtime
