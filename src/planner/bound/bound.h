// Lower bound on the period of every plan of a search space.
//
// Let t_i be the time of task i in some plan, r_i the time of its engine's weight sync (only for an engine with
// separate weights), n_i the number of its devices, and N the number of all devices. The period P of the plan is at
// least the first two of these terms. The third may replace part of the second:
//
//   sum_i n_i (t_i + r_i) / N         Mean work of a device in an iteration.
//
//   ( sum_{i on C} t_i + sum_e r_e ) / lag(C)
//                                     For every cycle C of the workflow's edges, which spans lag(C) iterations. The
//                                     edges e on C are those that bring trained weights to an engine, and r_e is the
//                                     time of that weight sync.
//
//   sum_{i in (a, b)} n_i t_i / N     Replaces the times of the tasks between a and b on a cycle. (a, b) is the set
//                                     of all tasks that must follow a and precede b: the devices do their work between
//                                     a and b.
//
// P is also at least every weighted mean of these terms, with weights that add up to 1. All terms are linear in t, so
// the minimum of a mean over all plans is found task by task:
//
//   P >= sum_i  min over the choices of task i of  ( x_i + w_i n / N ) t + ( y_i + z_i n / N ) r
//
// Here x, w, y and z are the weighted coefficients of task i. This holds for all weights (a Lagrangian relaxation of
// the time-cost trade-off). Conditional gradients find good weights. This bound may be low, because a mean of plans is
// not a plan. The set of plans is therefore divided: the part with the smallest bound is repeatedly cut in two by the
// number of devices of a task. The bound is the minimum over all parts. Some tasks may be large enough in a part that
// every two of them have more than N devices together. They then all share a device, because meshes are runs of
// consecutive devices, and the sum of their times is another term. If they include an engine and the training of its
// weights, the weight sync is between overlapping devices. The bound ignores whether tasks fit in memory together.
//
// Stage fusion may shorten a task to less than t. The bound then uses a time that the task takes under any fusion: on a
// cycle, the work of the busiest pipeline stage; in sums of work, the work of the mean stage. Both include host
// transfers:
//
// - Two trainings in one schedule take at least the work of either's busiest stage, and at least the sum of both mean
//   stages.
// - Generation fused with inference takes at least the generation up to the earliest threshold plus all passes of
//   inference. It also takes at least the generation at the best threshold. On cycles, this is a separate term without
//   inference.
#pragma once

#include "planner/space/fused_activities.h"

namespace dovetail::planner {

/// Returns a lower bound in seconds on the period of all plans of the space that have no fusion outside `fusion`.
/// Excludes the time between iterations (Efficiency::iteration). If stopped, the bound is lower, possibly 0. REQUIRES:
/// no impossible_task(space).
double period_bound(const SearchSpace& space, FusionSelection fusion = {});

}  // namespace dovetail::planner
