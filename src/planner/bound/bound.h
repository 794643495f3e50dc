// Lower bound on the period of every plan of a search space.
//
// Let t_i be the time of task i in some plan, r_i the time of its engine's weight sync (only for an engine with
// separate weights), n_i the number of its devices, and N the number of all devices. The period P of the plan is at
// least each of the first two terms below. The first leaves out the r_i of tasks that generate with the same weights,
// because they may share a weight sync. The third term may replace part of the second:
//
//   sum_i n_i (t_i + r_i) / N         Mean work of a device in an iteration.
//
//   ( sum_{i on C} t_i + sum_e r_e ) / lag(C)
//                                     For every cycle C of the workflow's edges, which spans lag(C) iterations. The
//                                     edges e on C are those that bring trained weights to an engine, and r_e is the
//                                     time of that weight sync.
//
//   sum_{i in (a, b)} n_i t_i / N     Replaces the times of the tasks between a and b on a cycle. (a, b) is the set
//                                     of all tasks that must follow a and precede b. The devices do the work of these
//                                     tasks between a and b.
//
// P is also at least every weighted mean of these terms, with weights that add up to 1. All terms are linear in t and
// r, so the minimum of a mean over all plans is found task by task:
//
//   P >= sum_i  min over the choices of task i of  ( x_i + w_i n / N ) t + ( y_i + z_i n / N ) r
//
// Here x, w, y and z are the weighted means of the coefficients of task i. The inequality holds for all weights (a
// Lagrangian relaxation of the time-cost trade-off). Conditional gradients find good weights.
//
// Even with the best weights, the bound may be low, because it also covers mixtures of several plans. The set of plans
// is therefore divided: the subset with the smallest bound is repeatedly cut in two by the number of devices of a task.
// The result is the minimum of the bounds of all subsets.
//
// In some subsets, there are tasks of which any two have more than N devices together. As meshes are runs of
// consecutive devices, all of these tasks then share a device, and the sum of their times is another term. If an engine
// and the training of its weights are among them, the weight sync is between overlapping devices. The bound ignores
// whether tasks fit in memory together.
//
// Stage fusion may shorten a task to less than t. If fusion is allowed, the terms use times that are valid with and
// without it:
//
// - Two trainings in one schedule take at least the work of each training's busiest pipeline stage. The terms of cycles
//   use this time. They also take at least the sum of the mean work per stage of both. The terms that sum up work use
//   this time. Both times include host transfers.
// - Generation fused with inference takes at least the generation up to the earliest threshold plus all passes of
//   inference. It also takes at least the whole generation at the best threshold. On cycles, the latter is a separate
//   term without inference.
#pragma once

#include "planner/space/fused_activities.h"

namespace dovetail::planner {

/// Returns a lower bound in seconds on the period of all plans of the space that have only fusions in `fusion`.
/// Excludes the time between iterations (Efficiency::iteration). If stopped, the bound is lower, possibly 0. REQUIRES:
/// impossible_task(space) is nullopt.
double period_bound(const SearchSpace& space, FusionSelection fusion = {});

}  // namespace dovetail::planner
