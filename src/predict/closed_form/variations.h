// Plans of a task that differ from a given one in one setting, without moving to other devices.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/plan.h"
#include "predict/closed_form/activity_seconds.h"

namespace dovetail::predict {

/// Returns plans of a task with one setting changed, on the same mesh with the same parallel degrees:
/// - training: other recomputation, supported ZeRO stages, sequence parallelism, and offloading of gradients and
///   optimizer;
/// - training and inference: micro-batches of 1/16, 1/8, 1/4, 1/2, 2 and 4 times the size;
/// - generation: other values of memory_utilization and max_num_seqs;
/// - all tasks: offloading of weights.
/// Omits plans that have a fault, contradict the job's pins, or are excluded from searches by the job's framework.
/// REQUIRES: the task is not a rule, and `planned` has no fault.
std::vector<plan::TaskPlan> variations_of(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

}  // namespace dovetail::predict
