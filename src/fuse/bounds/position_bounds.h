// Bounds on when the k-th op of each kind, in time order, can run on each pipeline stage. Also the one-machine bound.
//
// The micro-batches of a mini-batch are interchangeable. So in every schedule, the k-th forward in time order on a
// stage cannot start before the k-th forward on the previous stage has ended: each micro-batch's forward waits for its
// forward on the previous stage, and sorting the times on both stages preserves these waits. Bounds on positions
// therefore hold for every schedule. They are much stronger than bounds on named micro-batches, any of which may come
// first. Proofs are in docs/bounds.md.
#pragma once

#include <cstddef>
#include <vector>

#include "base/quantity.h"
#include "pipeline/problem/problem.h"

namespace dovetail::fuse {

/// One time for each op of a pipeline stage. The ops of each kind are numbered in time order.
struct PositionTimes {
  std::vector<base::Ticks> forward;          ///< [position] time of the forward
  std::vector<base::Ticks> backward;         ///< [position] time of B, or of I if the model splits its backward
  std::vector<base::Ticks> weight_gradient;  ///< [position] time of W; empty if the backward is not split
  std::vector<base::Ticks> step;             ///< [mini-batch] time of the optimizer step; empty if the model has none
};

/// The bounds of one stage of one pipeline.
struct StageBounds {
  base::ModelId model;
  base::StageId stage;
  base::DeviceId device;
  PositionTimes heads;  ///< earliest start of the op in any schedule
  PositionTimes tails;  ///< minimum time from the end of the op to the end of any schedule
};

/// Returns the bounds for all stages of all pipelines, in file order. Each pipeline is considered alone on its devices,
/// coupled only to the other replicas of its model. If the model splits its backward, the bounds are for I and W. They
/// also hold for schedules with B, because B counts as I directly followed by W.
std::vector<StageBounds> position_bounds(const pipeline::Problem& problem);

/// A job of a single machine: it cannot start before `head`, and at least `tail` must pass after its end.
struct Job {
  base::Ticks head;
  base::Ticks duration;
  base::Ticks tail;
};

/// Returns the makespan of an optimal preemptive one-machine schedule, including tails. Jackson's rule: always run the
/// ready job with the longest tail. The result equals the maximum over subsets of jobs of minimum head + work + minimum
/// tail.
base::Ticks preemptive_one_machine(std::vector<Job> jobs);

}  // namespace dovetail::fuse
