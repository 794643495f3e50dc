// What a replay shows: each op beside its place in the schedule, and what keeping the order has cost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "execute/replay.h"
#include "timeline/timeline.h"

namespace dovetail::execute {

/// An op on a rank, as the schedule has it and as it was. Its replica and stage are those of the ranks.
struct ReplayedOp {
  pipeline::OpLabel label;
  int rank = 0;
  Span planned;
  Span measured;

  base::Ticks lateness() const { return measured.end - planned.end; }
};

/// [rank] in the order in which it runs them. REQUIRES: as replay.
std::vector<std::vector<ReplayedOp>> replayed_ops(const pipeline::Schedule& schedule,
                                                  const pipeline::Placement& placement,
                                                  const std::vector<pipeline::Program>& programs,
                                                  const ReplayTimes& times);

struct ReplayFigures {
  base::Ticks planned;           ///< the makespan of the schedule
  base::Ticks measured;          ///< that of the ranks
  base::Ticks planned_overlap;   ///< how long ops of two models or more are under way at once, on whichever ranks
  base::Ticks measured_overlap;  ///< likewise
  ReplayedOp latest;             ///< the op that ends latest against the schedule

  /// Measured over planned.
  double ratio() const;
  /// What of the measured makespan is not the ops': it is the executor's, on the path that decides when all ends.
  double executor_share() const;
};

/// REQUIRES: there is an op.
ReplayFigures figures_of(const std::vector<std::vector<ReplayedOp>>& ops);

/// The ops of `problem` as they were measured, [rank]: a lane a rank, called like the device of that number, up to the
/// end of the last op; between them bubbles. Times in ns, shown in ms.
timeline::Timeline measured_timeline(const pipeline::Problem& problem, const std::vector<std::vector<ReplayedOp>>& ops,
                                     std::string title);

}  // namespace dovetail::execute
