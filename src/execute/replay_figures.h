// Results of a replay: each op with its planned and its measured time, summary figures, and a timeline.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "execute/replay.h"
#include "timeline/timeline.h"

namespace dovetail::execute {

/// An op on a rank with its planned and its measured time. Its replica and stage are those of the ranks' programs.
struct ReplayedOp {
  pipeline::OpLabel label;
  int rank = 0;
  Span planned;
  Span measured;

  base::Ticks lateness() const { return measured.end - planned.end; }
};

/// Returns the ops of each rank, [rank], in execution order. REQUIRES: the same as replay().
std::vector<std::vector<ReplayedOp>> replayed_ops(const pipeline::Schedule& schedule,
                                                  const pipeline::Placement& placement,
                                                  const std::vector<pipeline::Program>& programs,
                                                  const ReplayTimes& times);

struct ReplayFigures {
  base::Ticks planned;           ///< makespan of the schedule
  base::Ticks measured;          ///< measured makespan of the ranks
  base::Ticks planned_overlap;   ///< planned time during which ops of at least two models run, on any ranks
  base::Ticks measured_overlap;  ///< measured time during which ops of at least two models run, on any ranks
  ReplayedOp latest;             ///< the op that ends latest compared with the schedule

  /// Returns the measured makespan divided by the planned one.
  double ratio() const;
  /// Returns the fraction of the measured makespan that exceeds the plan: the executor's overhead on the critical path.
  double executor_share() const;
};

/// Computes the figures of a replay. REQUIRES: there is an op.
ReplayFigures figures_of(const std::vector<std::vector<ReplayedOp>>& ops);

/// Returns the measured times of `ops`, [rank], as a timeline, in which bars refer to the pipelines of `problem`. It
/// has one lane per rank, named "device RANK". Idle time is warm-up before a rank's first op, drain after its last, and
/// a bubble between ops. Lanes extend to the end of the last op of all ranks. Times are in ns, shown in ms.
timeline::Timeline measured_timeline(const pipeline::Problem& problem, const std::vector<std::vector<ReplayedOp>>& ops,
                                     std::string title);

}  // namespace dovetail::execute
