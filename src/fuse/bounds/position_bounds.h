// Bounds on when the k-th op in time order of each kind can run on each stage of a pipeline, and the one-machine bound.
//
// The micro-batches of a mini-batch are interchangeable. So in every schedule, the k-th forward in time order on a
// stage cannot start before the k-th forward on the previous stage has ended: sorting both sequences preserves the
// inequality. Bounds on positions therefore hold for every schedule. They are much stronger than bounds on named
// micro-batches, any of which may come first. Proofs are in docs/bounds.md.
#pragma once

#include <cstddef>
#include <vector>

#include "base/quantity.h"
#include "pipeline/problem/problem.h"

namespace dovetail::fuse {

/// One time for each op of a pipeline stage. The ops of each kind are numbered in time order.
struct PositionTimes {
  std::vector<base::Ticks> forward;          ///< [position]
  std::vector<base::Ticks> backward;         ///< [position]; B, or I if the model splits its backward
  std::vector<base::Ticks> weight_gradient;  ///< [position]; empty if the backward is not split
  std::vector<base::Ticks> step;             ///< [mini-batch]; empty if the model has no optimizer steps
};

/// The bounds of one stage of one pipeline.
struct StageBounds {
  base::ModelId model;
  base::StageId stage;
  base::DeviceId device;
  PositionTimes heads;  ///< no schedule starts the op earlier
  PositionTimes tails;  ///< no schedule ends sooner than this after the op has ended
};

/// Returns the bounds for all stages of all pipelines, in file order. Each pipeline is considered alone on its devices,
/// coupled only to the other replicas of its model. A split backward counts as I and W: a schedule that runs B runs I,
/// then W.
std::vector<StageBounds> position_bounds(const pipeline::Problem& problem);

/// A job of a single machine: it cannot start before `head`, and needs at least `tail` after its end.
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
