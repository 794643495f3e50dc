// An inference task as its devices live through it: micro-batches of each replica through its pipeline stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/task_plan.h"
#include "predict/closed_form/scenario.h"
#include "simulate/trace.h"

namespace dovetail::predict {

/// The forward pass of an infer task, by the replica that takes longest. Its share is cut into so many micro-batches as
/// cost::inference_batches says, rounded up, all alike; what is rounded makes them that much shorter, so that the
/// slowest stage works as long as in cost::inference_seconds. Where the software deals out packs, they are those of
/// dealt_packs. A micro-batch enters a stage when it has come from the one before and the one before it is through. A
/// lane for each stage and kind of rank (ranks.h). Without what the task has beside its passes.
simulate::Trace inference_trace(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

}  // namespace dovetail::predict
