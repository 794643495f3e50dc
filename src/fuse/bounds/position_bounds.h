// Limits on when the k-th op, in order of time, of each kind can run on each stage of a pipeline.
//
// Micro-batches of a mini-batch are alike, so whatever their order in a schedule is, the k-th forward on a stage, in
// order of time, cannot start before the k-th on the stage before has ended: sorting both sequences keeps the
// inequality between them. Limits on positions therefore hold for every schedule, and are far stronger than limits on
// named micro-batches, any of which may come first. Proofs are in docs/bounds.md.
#pragma once

#include <cstddef>
#include <vector>

#include "pipeline/problem/problem.h"

namespace dovetail::fuse {

/// One time for each op of a pipeline stage, the ops of a kind numbered in order of time.
struct PositionTimes {
  std::vector<base::Ticks> forward;          ///< [position]
  std::vector<base::Ticks> backward;         ///< [position], of B, or of I where the model splits its backward
  std::vector<base::Ticks> weight_gradient;  ///< [position]; empty where not split
  std::vector<base::Ticks> step;             ///< [mini-batch]; empty where the model has no steps
};

/// One stage of one pipeline with its limits.
struct StageBounds {
  base::ModelId model;
  base::StageId stage;
  base::DeviceId device;
  PositionTimes heads;  ///< no schedule starts the op before this
  PositionTimes tails;  ///< no schedule ends earlier than this after the op has ended
};

/// The limits of all stages of all pipelines, in file order. They count the pipelines of one model only, each alone on
/// its devices. A split backward is taken as I and W: a schedule that runs B runs I, then W.
std::vector<StageBounds> position_bounds(const pipeline::Problem& problem);

}  // namespace dovetail::fuse
