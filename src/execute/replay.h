// A schedule replayed: its programs run by ranks that wait in place of computing, and when they did what.
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

/// `schedule` with its times in ns, a tick taking `ns_per_tick`, each op as early as its order allows: what ranks do
/// that keep the order and wait for nothing else. Its claims hold that makespan; it has no capacity, as ops that begin
/// earlier may hold more. An Error where it would take longer than a problem may. REQUIRES: validate(schedule) found
/// nothing.
base::Result<pipeline::Schedule> as_replayed(const pipeline::Schedule& schedule, double ns_per_tick);

/// From when to when, counted from the common start of all ranks. In ns.
struct Span {
  base::Ticks begin;
  base::Ticks end;

  friend bool operator==(const Span&, const Span&) = default;
};

/// When instructions were carried out: [rank][instruction], as in Program::code.
using ReplayTimes = std::vector<std::vector<Span>>;

/// Those of a rank's trace, counted from `start`.
std::vector<Span> spans_of(const Trace& trace, transport::Clock::time_point start);

/// More threads than that are refused.
inline constexpr int max_replay_threads = 1024;

struct ReplayOptions {
  std::size_t message_bytes = 0;                                 ///< as Replay's
  transport::Clock::duration timeout = std::chrono::minutes(1);  ///< of each wait, beyond what the whole schedule takes
  const parallel::Cancellation* cancellation = nullptr;          ///< ends the replay (Failure::interrupted)
};

/// Runs programs on threads, one a rank, that begin together. REQUIRES: `schedule` is as_replayed, `programs` are its
/// sound ones on `placement`.
base::Result<ReplayTimes> replay(const pipeline::Schedule& schedule, const pipeline::Placement& placement,
                                 const std::vector<pipeline::Program>& programs, const ReplayOptions& options);

}  // namespace dovetail::execute
