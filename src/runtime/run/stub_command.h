// dovetail-train stub: replays one rank of a schedule with ops that wait.
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
  std::size_t message_bytes = 0;          ///< of each activation and gradient
  transport::Clock::duration timeout{};   ///< limit of each wait
  std::optional<std::string> trace = {};  ///< output file for the times of all instructions
};

/// Returns the Error of every rank if this many ranks cannot run it.
base::Status check_stub(const StubArguments& arguments, int ranks);

/// Runs this process's rank, found in the environment, and returns the exit code. Rank 0 prints the predicted and the
/// measured makespan: the latest end of an op, counted from a barrier of all ranks. It also writes the trace: a JSON
/// array [rank][instruction] of [begin, end] in ns, counted from each rank's end of the barrier.
int run_stub(const StubArguments& arguments);

}  // namespace dovetail::runtime
