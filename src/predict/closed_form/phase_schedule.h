// A training phase as ranks execute it: the order of its ops, and the ranks that run them.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "pipeline/program/placement.h"
#include "pipeline/schedule/schedule.h"
#include "plan/plan.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::predict {

/// Numbers of mini-batches and micro-batches in one phase of a train task, which may differ from the plan.
struct PhaseCounts {
  int minibatches = 1;
  int microbatches = 1;  ///< per mini-batch and replica

  friend auto operator<=>(const PhaseCounts&, const PhaseCounts&) = default;
};

struct PhaseSchedule {
  pipeline::Schedule schedule;    ///< one model per task, in the order of the tasks
  pipeline::Placement placement;  ///< ranks are the plan's devices, starting at the first
};

/// Returns the schedule of a training phase and the ranks that run it. A single train task follows the schedule of its
/// layout: 1F1B, or interleaved 1F1B if it has virtual stages. The two trainings that the plan fuses follow the
/// schedule of intra_stage. `counts`: [task]; empty: as planned. Deterministic across machines. Errors as in
/// training_problem and fused_training_problem. REQUIRES: the plan has no fault, and the tasks are on all of the
/// cluster's devices.
base::Result<PhaseSchedule> phase_schedule(const Scenario& scenario, const plan::Plan& plan,
                                           std::span<const std::size_t> tasks,
                                           std::span<const PhaseCounts> counts = {});

/// Minimum relative gain in makespan for which reordered() uses a new order.
inline constexpr double min_gain_of_new_order = 0.03;

/// Returns `fused`, the schedule of two fused trainings, in the fastest order found for the op times of `measured`.
/// The search of intra_stage finds this order, if possible within the memory that the plan leaves free. Keeps the old
/// order if the gain is below min_gain_of_new_order or if no order is found. The times in the schedule remain the
/// planned ones. Deterministic across machines. REQUIRES: `measured` equals the problem of `fused`, except for times
/// and capacity.
base::Result<pipeline::Schedule> reordered(const Scenario& scenario, const plan::Plan& plan,
                                           const pipeline::Schedule& fused, const pipeline::Problem& measured);

}  // namespace dovetail::predict
