// What no plan of a search space can beat.
//
// Let t_i be the time of task i in some plan, r_i how long new weights take to its engine (only where it generates with
// weights of its own), n_i the devices that it runs on, N all devices. The period P of the plan is not less than any of
// these terms:
//
//   sum_i n_i (t_i + r_i) / N         no device has more to do in an iteration than its period, and all together have N
//                                     of them
//   ( sum_{i on C} t_i + sum_e r_e ) / lag(C)
//                                     for every circle C of the workflow's edges, which spans lag(C) iterations; of the
//                                     edges e on it those by which an engine gets the weights of a training
//   the same with stretches of a circle in place of tasks: between two tasks a and b of it lies whatever must follow
//                                     the one and precede the other, and the devices have to do all of it meanwhile:
//                                     sum_{i in (a, b)} n_i t_i / N
//
// nor than any mean of these with weights that add up to 1. All are linear in t, so that the least of a mean over all
// plans is found task by task:
//
//   P >= sum_i  min over the choices of task i of  ( x_i + w_i n / N ) t + ( y_i + z_i n / N ) r
//
// where x, w, y and z are what task i has in the terms, weighed. This holds for all weights (a Lagrangian relaxation of
// the time-cost trade-off); good ones are found by conditional gradients. As no plan is a mean of several, the plans
// are then cut in two, again and again, by how many devices a task has, where the bound is least: the bound is the
// least of the parts'. In a part in which any two of some tasks have more devices than there are, all of these share
// one device (meshes are runs of devices), so that their times together are a term, too; and where these are an engine
// and what trains its weights, the weights go to devices that both use. That all have to fit together counts nothing in
// it.
//
// Plans that fuse stages take less than t for a task. For them t is what is sure of it in whatever is fused (f: the
// work of the busiest stage on a circle, of the mean one where work is summed, both with host transfers):
//
//   two trainings in one schedule take as long as either's busiest stage works, and as long as the mean stages of both
//   do together;
//   generation with inference takes as long as generation does up to the earliest threshold, and all passes of
//   inference; and as long as generation does at the best threshold: on circles that is another term, without what
//   infers
#pragma once

#include "planner/space/fused_activities.h"

namespace dovetail::planner {

/// Seconds: no plan of the space's meshes and choices that fuses nothing but `fusion`, or less, has a period below.
/// What an iteration has beside its steps (Efficiency::iteration) is not in it. A lower one where it is stopped, maybe
/// 0. REQUIRES: no impossible_task(space).
double period_bound(const SearchSpace& space, FusionSelection fusion = {});

}  // namespace dovetail::planner
