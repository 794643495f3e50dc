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
/// Clocks stay unchanged if no message arrives before it was sent, as on one host, whose ranks share a clock. Otherwise
/// each clock is moved to the middle of its feasible range: no message arrives before it was sent, and no reduction
/// ends before all of its ranks have begun it. A rank without messages or reductions keeps its clock.
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

/// Computes the medians of one run of a training phase. `programs` are the programs of all ranks.
OpMedians medians_of(const std::vector<pipeline::Program>& programs, const ReplayTimes& times);
/// Computes the medians of the medians of several runs. For an even number of runs, takes the lower of the two middle
/// values.
OpMedians medians_of(std::span<const OpMedians> runs);

/// Returns `problem` with the measured durations. A problem stage that covers several stages of the ranks gets the sum
/// of their durations for ops with an output for the next stage, otherwise their maximum. Durations without a
/// measurement stay unchanged. REQUIRES: times of `problem` are in ns; `placement` is a placement of it.
pipeline::Problem with_measured_times(pipeline::Problem problem, const pipeline::Placement& placement,
                                      const OpMedians& medians);

}  // namespace dovetail::execute
