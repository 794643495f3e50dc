// Lower bound on the period of every plan of a search space.
//
// Let t_i be the time of task i in some plan, r_i the time of its engine's weight sync (only for an engine with
// separate weights), n_i the number of its devices, and N the number of all devices. The period P of the plan is at
// least each of these terms:
//
//   sum_i n_i (t_i + r_i) / N         The period covers the work of each of the N devices.
//
//   ( sum_{i on C} t_i + sum_e r_e ) / lag(C)
//                                     For every cycle C of the workflow's edges, which spans lag(C) iterations. The
//                                     edges e on C are those that bring trained weights to an engine.
//
//   sum_{i in (a, b)} n_i t_i / N     May replace the tasks between a and b on a cycle. The set (a, b) contains all
//                                     tasks that must follow a and precede b. The devices must do all of their work.
//
// P is also at least every mean of these terms with weights that add up to 1. All terms are linear in t, so the minimum
// of a mean over all plans is found task by task:
//
//   P >= sum_i  min over the choices of task i of  ( x_i + w_i n / N ) t + ( y_i + z_i n / N ) r
//
// Here x, w, y and z are the weighted coefficients of task i. This holds for all weights (a Lagrangian relaxation of
// the time-cost trade-off). Good weights are found by conditional gradients. A mean of plans is not a plan. The set of
// plans is therefore divided into parts: the part with the smallest bound is repeatedly cut in two by the number of
// devices of a task. The bound is the minimum over all parts. If any two of some tasks have more than N devices in a
// part, all of them share a device, because meshes are runs of devices. Their times together are then another term. If
// these tasks include an engine and the training of its weights, the weight sync is between overlapping devices. The
// bound ignores whether tasks fit in memory together.
//
// A plan that fuses stages takes less than t for a task. The bound then uses the time that is certain under any fusion.
// On a cycle, this is the work of the busiest stage. In sums of work, it is the work of the mean stage. Both include
// host transfers:
//
// - Two trainings in one schedule take at least the work of either's busiest stage, and at least the sum of both mean
//   stages.
// - Generation fused with inference takes at least the generation up to the earliest threshold plus all passes of
//   inference. It also takes at least the generation at the best threshold. On cycles, this is a separate term without
//   inference.
#pragma once

#include "planner/space/fused_activities.h"

namespace dovetail::planner {

/// Returns a lower bound in seconds on the period of all plans of the space that fuse at most `fusion`. Excludes the
/// time between iterations (Efficiency::iteration). If stopped, the bound is lower, possibly 0. REQUIRES: no
/// impossible_task(space).
double period_bound(const SearchSpace& space, FusionSelection fusion = {});

}  // namespace dovetail::planner
