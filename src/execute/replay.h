// Replays a schedule: ranks run its programs, wait instead of computing, and record their times.
#pragma once

#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "execute/interpreter.h"
#include "parallel/cancellation.h"
#include "pipeline/program/placement.h"
#include "pipeline/program/program.h"
#include "pipeline/schedule/schedule.h"
#include "transport/transport.h"

namespace dovetail::execute {

/// Converts `schedule` to ns, with `ns_per_tick` ns per tick, and starts each op as early as the order allows, as the
/// ranks do. The claims of the result give its new makespan. The result has no memory capacity, because ops that begin
/// earlier may hold more memory. Returns an Error if the result would exceed the maximum time. REQUIRES:
/// validate(schedule) found no fault.
base::Result<pipeline::Schedule> as_replayed(const pipeline::Schedule& schedule, double ns_per_tick);

/// A time span in ns, counted from the common start of all ranks.
struct Span {
  base::Ticks begin;
  base::Ticks end;

  friend bool operator==(const Span&, const Span&) = default;
};

/// When instructions were executed: [rank][instruction], as in Program::code.
using ReplayTimes = std::vector<std::vector<Span>>;

/// Returns the times of a rank's trace, counted from `start`.
std::vector<Span> spans_of(const Trace& trace, transport::Clock::time_point start);

/// Maximum number of ranks that replay() accepts, because each rank has a thread.
inline constexpr int max_replay_threads = 1024;

struct ReplayOptions {
  std::size_t message_bytes = 0;  ///< size of each activation and gradient (Replay::message_bytes)
  transport::Clock::duration timeout = std::chrono::minutes(1);  ///< limit of each wait, in addition to the makespan
  const parallel::Cancellation* cancellation = nullptr;          ///< ends the replay (Failure::interrupted)
};

/// Runs programs on threads, one per rank, that begin together. Returns an Error if there are more than
/// max_replay_threads ranks, if a wait exceeds its limit, or after a cancellation. REQUIRES: `schedule` is a result of
/// as_replayed; `programs` are its valid programs on `placement`.
base::Result<ReplayTimes> replay(const pipeline::Schedule& schedule, const pipeline::Placement& placement,
                                 const std::vector<pipeline::Program>& programs, const ReplayOptions& options);

}  // namespace dovetail::execute
