// Plans of a task that differ from a given one in one setting: what a person can change without moving anything.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/plan.h"
#include "predict/closed_form/activity_seconds.h"

namespace dovetail::predict {

/// Of training other recomputation and ZeRO stages (that the trainer has), of all passes micro-batches of a half, a
/// quarter, ... and of twice and four times as much, of generation other shares of the memory and other numbers of
/// sequences, of all what else could be offloaded, or stay. On the same mesh with the same parallel degrees; without
/// those that have a fault or that the job's pins rule out. REQUIRES: the task is no rule, and `planned` has no fault.
std::vector<plan::TaskPlan> variations_of(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

}  // namespace dovetail::predict
