// dovetail-train stub: one rank of a schedule that is replayed with ops that wait.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"
#include "transport/transport.h"

namespace dovetail::runtime {

struct StubArguments {
  std::string schedule;                   ///< file of a schedule, in any format
  transport::Clock::duration tick{};      ///< what a tick of its durations takes; where they have a unit, a ns
  std::size_t message_bytes = 0;          ///< of each activation and gradient
  transport::Clock::duration timeout{};   ///< of each wait
  std::optional<std::string> trace = {};  ///< file for the times of all instructions
};

/// Whether so many ranks can run it: the Error that each of them would have.
base::Status check_stub(const StubArguments& arguments, int ranks);

/// Runs this process's rank, found in the environment. Rank 0 prints on standard output what the schedule predicts and
/// what was measured: the latest end of an op, from a barrier of all ranks on. It writes the trace: a JSON array
/// [rank][instruction] of [begin, end] in ns from each rank's end of the barrier on. Gives the exit code.
int run_stub(const StubArguments& arguments);

}  // namespace dovetail::runtime
