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

/// Returns an Error if this number of ranks cannot run the schedule. A launcher calls this before it starts the ranks,
/// so that the error is reported only once.
base::Status check_stub(const StubArguments& arguments, int ranks);

/// Runs the rank specified by this process's environment variables, and returns the exit code. Each rank counts time
/// from the end of a barrier of all ranks. Rank 0 prints the predicted makespan and the measured one, which is the
/// latest end of an op. If StubArguments::trace is set, rank 0 also writes the trace: a JSON array [rank][instruction]
/// of [begin, end] in ns.
int run_stub(const StubArguments& arguments);

}  // namespace dovetail::runtime
