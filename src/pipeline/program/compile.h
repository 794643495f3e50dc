// From a schedule to what each rank does.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "pipeline/program/placement.h"
#include "pipeline/program/program.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

/// What a model's ranks exchange beyond what the problem says.
struct Exchanges {
  bool clips_by_norm = false;                ///< gradients are clipped by the norm of all of them
  bool tied = false;                         ///< first and last stage share a weight
  bool shards_steps = false;                 ///< ZeRO-1: each replica steps a share of a stage's weights
  std::vector<std::int64_t> forward_bytes;   ///< [boundary between the model's stages] of an activation; or empty
  std::vector<std::int64_t> backward_bytes;  ///< of a gradient; or empty

  friend bool operator==(const Exchanges&, const Exchanges&) = default;
};

/// [model] What the problem's steps wait for: `step_after: model` is clipping by norm, `step_before: replicas` ZeRO-1.
/// That a weight is tied, and the bytes of messages, it does not say.
std::vector<Exchanges> exchanges_of(const Problem& problem);

/// A program for each rank of `placement` that runs the ops of `schedule` in its order.
///
/// A channel is a pair of ranks; its messages have the order in which the sender's ops end. A receive is posted before
/// the last op that starts before the sender's op ends, and never behind a later message's: what arrives finds its
/// place, which is not made an op sooner than that. A reduction starts behind the last op that adds to it, in one order
/// over all ranks: that in which the last of all ranks adds to it in the schedule. It is awaited before the step that
/// needs it; new weights are awaited before the next mini-batch's first forward on the stage, the last at the end.
///
/// An Error says where `placement` or `exchanges` (one a model) do not go with the problem: clipping or a tied weight
/// with `step_after: stage`, ZeRO-1 with `step_before: own`. REQUIRES: validate(schedule) found nothing.
base::Result<std::vector<Program>> compile(const Schedule& schedule, const Placement& placement,
                                           const std::vector<Exchanges>& exchanges);

}  // namespace dovetail::pipeline
