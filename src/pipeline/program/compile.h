// Compiles a schedule to a program for each rank.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "pipeline/program/placement.h"
#include "pipeline/program/program.h"
#include "pipeline/schedule/schedule.h"

namespace dovetail::pipeline {

/// Communication among the ranks of a model that the problem does not fully specify.
struct Exchanges {
  bool clips_by_norm = false;                ///< gradients are clipped by their global norm
  bool tied = false;                         ///< the first and the last stage share a weight
  bool shards_steps = false;                 ///< ZeRO-1: each replica updates a share of a stage's weights
  std::vector<std::int64_t> forward_bytes;   ///< [boundary between stages] bytes of an activation; empty if unknown
  std::vector<std::int64_t> backward_bytes;  ///< [boundary between stages] bytes of a gradient; empty if unknown

  friend bool operator==(const Exchanges&, const Exchanges&) = default;
};

/// Derives the exchanges of each model from the waits around its steps: `step_after: model` means clipping by norm,
/// `step_before: replicas` means ZeRO-1. Tied weights and message sizes keep their defaults: the problem does not
/// specify them.
std::vector<Exchanges> exchanges_of(const Problem& problem);

/// Compiles a program for each rank of `placement` that runs the ops of `schedule` in its order.
///
/// A channel is an ordered pair of ranks. Its messages are in the order in which the sender's ops end. The receive of a
/// message is posted just before an op of the receiver: the last one that starts before the sender's op ends, or the op
/// that takes the message if that comes earlier. To keep the order of the channel's messages, a receive may be posted
/// even earlier. The buffer thus exists when the message arrives, but is not allocated earlier than necessary.
///
/// A reduction starts after the last op that adds to it. All ranks start reductions in one order, sorted by the time of
/// the last contribution in the schedule. Reductions of gradients, and of their norm, are awaited before the step that
/// needs them. New weights are awaited before the first forward of the next mini-batch on the stage; after the last
/// mini-batch, at the end of the program.
///
/// Returns an Error if `placement` or `exchanges` (one per model) do not fit the problem, such as clipping or a tied
/// weight over several stages with `step_after: stage`, or ZeRO-1 over several replicas with `step_before: own`.
/// REQUIRES: validate(schedule) found nothing except exceeded capacity.
base::Result<std::vector<Program>> compile(const Schedule& schedule, const Placement& placement,
                                           const std::vector<Exchanges>& exchanges);

/// Compiles a schedule with the exchanges that exchanges_of derives. `check` finds no fault in the result under any
/// delivery. Returns the Errors of `compile`. REQUIRES: validate(schedule) found nothing except exceeded capacity.
base::Result<std::vector<Program>> sound_programs(const Schedule& schedule, const Placement& placement);

}  // namespace dovetail::pipeline
