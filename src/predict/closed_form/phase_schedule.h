// A training phase as ranks run it: in which order its ops, and who computes them.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "pipeline/program/placement.h"
#include "pipeline/schedule/schedule.h"
#include "plan/plan.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::predict {

/// How much of a train task one phase has, where that differs from what its plan expects.
struct PhaseCounts {
  int minibatches = 1;
  int microbatches = 1;  ///< of a mini-batch and replica

  friend auto operator<=>(const PhaseCounts&, const PhaseCounts&) = default;
};

struct PhaseSchedule {
  pipeline::Schedule schedule;    ///< a model for each task, in the order of the tasks
  pipeline::Placement placement;  ///< ranks are the plan's devices, from the first on
};

/// The phase that trains one task by the schedule that its layout names (1F1B, interleaved where it has virtual
/// stages), or the two that the plan fuses by what intra_stage finds. `counts`: [task]; none: as planned. The same on
/// every machine. Errors as training_problem and fused_training_problem. REQUIRES: the plan has no fault; the tasks are
/// on all of the cluster's devices.
base::Result<PhaseSchedule> phase_schedule(const Scenario& scenario, const plan::Plan& plan,
                                           std::span<const std::size_t> tasks,
                                           std::span<const PhaseCounts> counts = {});

/// A new order is taken where it saves at least so much.
inline constexpr double min_gain_of_new_order = 0.03;

/// `fused`, of the two trainings that the plan fuses, in the order in which ops with the times of `measured` take
/// least: what the same search finds for these times within the room that the plan leaves, where that is shorter by
/// min_gain_of_new_order than the order that `fused` has; else, and where nothing is found, in its own. Its times stay
/// its own. The same on every machine. REQUIRES: `measured` is its problem but for times and capacity.
base::Result<pipeline::Schedule> reordered(const Scenario& scenario, const plan::Plan& plan,
                                           const pipeline::Schedule& fused, const pipeline::Problem& measured);

}  // namespace dovetail::predict
