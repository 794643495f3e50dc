// What software that prefetches makes of an iteration: host transfers that go on beside other tasks.
//
// Loads and unloads become activities of their own (plan/host_transfers.h) where the devices have room. What a task
// brings may be on its devices while another task runs there if the fullest of that one's devices has room for it,
// beside all else that comes or goes meanwhile: room is given to the tasks behind it first, in the order of the
// workflow. Where there is none, the transfer and that task follow one another.
#pragma once

#include <vector>

#include "plan/host_transfers.h"
#include "predict/closed_form/activity_seconds.h"
#include "predict/closed_form/memory.h"

namespace dovetail::predict {

/// Whether what a task brings finds no room beside another one (see above); tasks that bring nothing from host memory,
/// and those that are fused, have no conflicts. `graph`: of the plan, with what it fuses as one activity; `memory`: its
/// task_memory.
plan::Conflicts transfer_conflicts(const Scenario& scenario, const plan::Plan& plan, const plan::IterationGraph& graph,
                                   const std::vector<TaskMemory>& memory);

/// Takes host transfers out of the tasks' activities, one after the other in the order of the workflow, and keeps each
/// where the iteration is no longer by it: so that no iteration is longer than without prefetching. `activities`:
/// [activity of `graph`], both as without prefetching. What is fused keeps its transfers.
void prefetch(const Scenario& scenario, const plan::Plan& plan, const std::vector<TaskMemory>& memory,
              plan::IterationGraph& graph, std::vector<ActivitySeconds>& activities);

}  // namespace dovetail::predict
