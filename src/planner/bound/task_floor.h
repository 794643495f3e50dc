// What is sure of a task's seconds whatever is fused with it: what the bound on periods (bound.h) counts.
#pragma once

#include <cstddef>

#include "planner/space/fused_activities.h"

namespace dovetail::planner {

/// Seconds that a task takes at the least; without fusion all are what it takes.
struct TaskFloor {
  double seconds = 0;  ///< from its beginning to its end, beside which others of its fused step have theirs
  double whole = 0;    ///< of the stage that it leads; 0 of what may be fused into such a stage
  double busy = 0;     ///< of each of its devices, in the mean
};

/// A task that takes so long, and nothing less in any respect.
TaskFloor all_alike(double seconds);

/// The less of both in each respect.
TaskFloor min_of(const TaskFloor& a, const TaskFloor& b);

/// With this choice, in plans that fuse nothing but `fusion`, or less. Trainings: stage_work, with what comes from host
/// memory and goes back, and their part of the one hand-over; where they have virtual stages, or are not the job's
/// train_pair(), all that they take. Inference: its passes. Generation: up to the earliest threshold, and with the tail
/// at the best one; never more than without fusion. Where the job's software prefetches, host transfers count nothing
/// but in what is fused: they may go on beside other tasks.
TaskFloor task_floor(const predict::Scenario& scenario, std::size_t task, const Choice& choice, FusionSelection fusion);

}  // namespace dovetail::planner
