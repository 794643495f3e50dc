// What no plan of a search space can beat.
//
// Let t_i be the time of task i in some plan, n_i the devices that it runs on, N all devices. The period P of the plan cannot be less than
//
//   sum_i n_i t_i / N            no device has more to do in an iteration than its period, and all together have N of them
//   sum_{i on C} t_i / lag(C)    for every circle C of the workflow's edges that spans lag(C) iterations
//
// nor than any mean of these with weights w_0 + sum_C w_C = 1, whose least over all plans is found task by task:
//
//   P >= sum_i  min over the choices of task i of  ( w_0 n / N + sum_{C through i} w_C / lag(C) ) t
//
// This holds for all weights (a Lagrangian relaxation of the time-cost trade-off); good ones are found by conditional gradients. That tasks
// may be on the same devices, that weights have to be moved, and that all have to fit together, counts nothing in it.
#pragma once

#include "place/search_space.h"

namespace dovetail::place {

/// Seconds: no plan of the space's meshes and choices has a period below. What an iteration has beside its steps
/// (Efficiency::iteration) is not in it. REQUIRES: no impossible_task(space).
double period_bound(const SearchSpace& space);

}  // namespace dovetail::place
