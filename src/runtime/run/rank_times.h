// When the ranks of a run carried out their instructions.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"
#include "execute/interpreter.h"
#include "execute/replay.h"
#include "pipeline/program/program.h"
#include "transport/transport.h"

namespace dovetail::runtime {

/// Gives rank 0 the times of all ranks' traces, each counted from the `origin` that its rank says; the others have
/// none. `programs` are those of all ranks, and only rank 0 needs them. `number`: as control_address.
base::Result<execute::ReplayTimes> gather_times(transport::Transport& transport,
                                                std::span<const pipeline::Program> programs, const execute::Trace& own,
                                                transport::Clock::time_point origin, std::uint32_t number,
                                                transport::Deadline deadline);

}  // namespace dovetail::runtime
