// The placement "rlhfuse": all tasks on all devices, with layouts that are chosen together with both fusions.
#pragma once

#include <optional>

#include "planner/rank/fusion_choice.h"
#include "planner/space/search_space.h"

namespace dovetail::planner {

/// From the co-located `start` on: the generation layout that is fastest with inference beside its tail, at its best
/// threshold; the layouts of the two train tasks whose fused bound is least, of the fastest few of each that can be
/// fused, and of the best of these the one with the fastest schedule. A layout that is worse alone may fuse better.
/// `start` itself where nothing is faster; nothing where the job demands a fusion that cannot be had. `threads` never
/// change the answer. REQUIRES: `start` fits.
std::optional<EvaluatedPlan> rlhfuse_plan(const SearchSpace& space, const Selection& start, FusionChooser& chooser,
                                          int threads);

}  // namespace dovetail::planner
