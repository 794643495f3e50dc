// When the steps of an iteration run, and how long an iteration takes in the long run.
#pragma once

#include <cstddef>
#include <vector>

#include "base/quantity.h"
#include "plan/iteration_graph.h"

namespace dovetail::plan {

/// A step of one iteration in time.
struct StepTime {
  base::Ticks begin;
  base::Ticks end;
};

/// Iterations one after another: those that overlap share devices in order of readiness.
struct Timing {
  base::Ticks period;           ///< of an iteration in steady state
  std::vector<StepTime> steps;  ///< [step] of a steady iteration, from the beginning of its first step
};

/// List scheduling: of all steps whose predecessors have ended, the one goes next that can start first, as all of its devices are free
/// then. Of several a reallocation between meshes (generation on other devices waits for it), then the one of the earlier iteration, then
/// of the lower number. As many iterations are under way at a time as the longest edge spans, and one more: what waits for no other task,
/// such as a pass of DPO's reference, runs no further ahead.
///
/// Iterations are played until n of them repeat the n before, all that is under way included, only t later: the period is t / n, rounded up
/// to whole ns. Warming up counts for nothing then, nor that nothing comes after the last (reference/physics.md, "Composition"); and no
/// device has more to do in an iteration, no circle of edges takes longer, than the period. Where they do not repeat for long, it is the
/// mean of the later half. `durations`: [step], in ns.
Timing time_iterations(const IterationGraph& graph, const Job& job, const Plan& plan, const std::vector<base::Ticks>& durations);

}  // namespace dovetail::plan
