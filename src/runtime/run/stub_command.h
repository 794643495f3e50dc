// dovetail-train stub: runs one rank of a schedule with ops that wait instead of computing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "transport/transport.h"

namespace dovetail::runtime {

struct StubArguments {
  std::string schedule;                   ///< schedule file in any format
  transport::Clock::duration tick{};      ///< time per tick, or per nanosecond if the schedule has a time unit
  std::size_t message_bytes = 0;          ///< bytes of each activation and gradient message
  transport::Clock::duration timeout{};   ///< limit of each wait
  std::optional<std::string> trace = {};  ///< output file for the times of all instructions
};

/// Returns an Error if this number of ranks cannot run the schedule. Lets a launcher fail once, before it starts the
/// ranks.
base::Status check_stub(const StubArguments& arguments, int ranks);

/// Runs this process's rank, found in the environment, and returns the exit code. Rank 0 prints the predicted and the
/// measured makespan: the latest end of an op, counted from a barrier of all ranks. It also writes the trace: a JSON
/// array [rank][instruction] of [begin, end] in ns, counted from each rank's end of the barrier.
int run_stub(const StubArguments& arguments);

}  // namespace dovetail::runtime
