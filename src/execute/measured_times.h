// How long the ops of a training phase took, as medians: what a schedule is compared with, and solved again from.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "execute/replay.h"
#include "pipeline/problem/op_kind.h"
#include "pipeline/program/placement.h"
#include "pipeline/program/program.h"

namespace dovetail::execute {

/// Ops that do the same work, of whichever replica and micro-batch. The stage is one as the ranks have it.
struct SameOps {
  base::ModelId model;
  base::StageId stage;
  pipeline::OpKind kind = pipeline::OpKind::F;

  friend auto operator<=>(const SameOps&, const SameOps&) = default;
};

/// What such ops took, in ns.
using OpMedians = std::map<SameOps, base::Ticks>;

/// Of one run of a phase. `programs` are those of all ranks.
OpMedians medians_of(const std::vector<pipeline::Program>& programs, const ReplayTimes& times);
/// Of several runs: medians of their medians. An even number has the lower of the two in the middle.
OpMedians medians_of(std::span<const OpMedians> runs);

/// `problem` with these times. A stage of it that stands for several of the ranks takes as long as all of them where
/// they hand something on, else as long as the longest. What was not measured stays. REQUIRES: times of `problem` are
/// in ns; the placement is one of it.
pipeline::Problem with_measured_times(pipeline::Problem problem, const pipeline::Placement& placement,
                                      const OpMedians& medians);

/// `times` of a run, each rank's by its own clock, on one clock that is 0 when the first rank begins. Clocks keep the
/// distance that they have where nothing then arrives before it was sent (ranks of one host share a clock); else each
/// is moved to the middle of what the run allows: no message comes before it was sent, no reduction ends before all of
/// its ranks have begun it. `programs` are those of all ranks; a rank whose times nothing ties to others' keeps its
/// clock.
ReplayTimes on_common_clock(const std::vector<pipeline::Program>& programs, ReplayTimes times);

}  // namespace dovetail::execute
