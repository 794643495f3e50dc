// Times of ranks whose clocks do not agree, on one clock.
#pragma once

#include <vector>

#include "execute/replay.h"
#include "pipeline/program/program.h"

namespace dovetail::execute {

/// `times` of a run, each rank's by its own clock, on one clock that is 0 when the first rank begins. Clocks keep the
/// distance that they have where nothing then arrives before it was sent (ranks of one host share a clock); else each
/// is moved to the middle of what the run allows: no message comes before it was sent, no reduction ends before all of
/// its ranks have begun it. `programs` are those of all ranks; a rank whose times nothing ties to others' keeps its
/// clock.
ReplayTimes on_common_clock(const std::vector<pipeline::Program>& programs, ReplayTimes times);

}  // namespace dovetail::execute
