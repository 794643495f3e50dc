// Times measured on ranks: moved to a common clock, and summarized as the median duration of each kind of op.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "execute/replay.h"
#include "pipeline/problem/op_kind.h"
#include "pipeline/program/placement.h"
#include "pipeline/program/program.h"

namespace dovetail::execute {

/// Converts the times of a run, which each rank measured by its own clock, to one clock that is 0 when the first rank
/// begins. `programs` are the programs of all ranks.
///
/// The ranks' clocks are consistent if no message arrives before it was sent and no reduction ends before all of its
/// ranks have begun it. Consistent clocks, such as those of ranks on one host, are not moved relative to each other.
/// Otherwise, in each set of ranks that messages or reductions connect, one rank keeps its clock, and every other clock
/// is moved to the middle of the range in which all clocks of the set are consistent.
ReplayTimes on_common_clock(const std::vector<pipeline::Program>& programs, ReplayTimes times);

/// Identifies ops that do the same work, on any replica and micro-batch. `stage` is numbered as in the ranks' programs.
struct SameOps {
  base::ModelId model;
  base::StageId stage;
  pipeline::OpKind kind = pipeline::OpKind::F;

  friend auto operator<=>(const SameOps&, const SameOps&) = default;
};

/// Median duration of the ops of each kind (SameOps), in ns.
using OpMedians = std::map<SameOps, base::Ticks>;

/// Computes the medians of one run of a training phase. For an even number of ops, takes the lower of the two middle
/// values. `programs` are the programs of all ranks.
OpMedians medians_of(const std::vector<pipeline::Program>& programs, const ReplayTimes& times);
/// Computes the medians of the medians of several runs. For an even number of runs, takes the lower of the two middle
/// values.
OpMedians medians_of(std::span<const OpMedians> runs);

/// Returns `problem` with the measured durations. If several stages of the ranks make up one problem stage, the problem
/// stage gets the sum of their durations for ops with an output for a neighboring stage, and the maximum for other ops.
/// A measured duration of 0 becomes one tick. If any of these stages was not measured, the duration stays unchanged.
/// REQUIRES: times of `problem` are in ns; `placement` is a placement of it.
pipeline::Problem with_measured_times(pipeline::Problem problem, const pipeline::Placement& placement,
                                      const OpMedians& medians);

}  // namespace dovetail::execute
