// The training phase as its devices live through it: real schedules (training_phase.h), op by op.
#pragma once

#include <cstdint>
#include <optional>

#include "base/quantity.h"
#include "base/result.h"
#include "predict/closed_form/training_phase.h"
#include "simulate/trace.h"

namespace dovetail::predict {

/// A train task under the schedule that its layout names, 1F1B or interleaved 1F1B: a lane for each stage and kind of
/// rank (ranks.h). Its micro-batches are those of training_problem or, where the software deals out packs, of
/// dealt_packs. Idle devices wait for messages
/// (`transfer`), else in bubbles. Lanes hold activations. Without what the task has beside its passes and steps. Errors
/// as training_problem.
base::Result<simulate::Trace> training_trace(const Scenario& scenario, const TrainTask& train);

/// How a fused schedule is searched.
struct FusedSearch {
  std::int64_t iterations = 2'000;  ///< of one chain
  std::optional<std::int64_t> max_activations =
      std::nullopt;  ///< bytes that a device may hold at most, where any schedule keeps to that
  bool brief =
      false;  ///< by brief_search(iterations), as estimates have it; else what `dovetail schedule` finds in one chain
};

/// Two train tasks in one schedule.
struct FusedTraining {
  /// The d-th part of the mesh is device d of the fused problem; in lanes by kind of rank, too, where both tasks have
  /// as many ranks and stages.
  simulate::Trace trace;
  KeptSchedule schedule;     ///< that the trace is of
  base::Ticks bound;         ///< ns: no schedule of both is shorter
  base::Ticks apart;         ///< one after the other under 1F1B, in the fused problem's stages
  base::Ticks mini_by_mini;  ///< each pair of mini-batches fused by itself, one pair after the other: without drifting
                             ///< across their borders
  std::int64_t peak = 0;     ///< bytes of activations that a device holds at most
};

/// Of the best schedule that fuse's portfolio finds. Errors as fused_training_problem.
base::Result<FusedTraining> fused_training_trace(const Scenario& scenario, const TrainTask& first,
                                                 const TrainTask& second, const FusedSearch& search);

}  // namespace dovetail::predict
