// Intra-stage fusion: two train tasks of a plan in one schedule (RLHFuse, NSDI 2025, section 5), with the memory that
// it takes.
//
// The schedule is a real one of all mini-batches (fused_schedule), searched for briefly: what the longest search still
// finds is little, as its bound beside it shows. It may hold as many activations as both models and all else that stays
// leave of each device.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan.h"
#include "predict/closed_form/activity_seconds.h"
#include "predict/closed_form/memory.h"
#include "predict/closed_form/training_phase.h"

namespace dovetail::predict {

/// What a fused training phase comes to; all seconds.
struct IntraStage {
  plan::TrainPair pair{};
  KeptSchedule schedule;        ///< what the plan does; null where none was made
  double schedule_seconds = 0;  ///< all passes and steps of both
  double bound = 0;             ///< that no schedule of both beats
  OverheadSeconds overhead;     ///< of both: their transfers share the link to host memory; one hand-over
  double apart = 0;             ///< one after the other, each as its layout has it
  /// Bytes of the fullest device, of fullest micro-batches; nothing without a schedule.
  std::optional<std::int64_t> activations;
  bool limited = false;  ///< with more room for activations the schedule might be another

  double seconds() const { return schedule_seconds + overhead.sum(); }
  double over_bound() const { return schedule_seconds / bound; }
};

/// Of both as one activity, with a schedule that takes so long.
ActivitySeconds fused_training_seconds(double schedule_seconds, const OverheadSeconds& overhead);

/// Of the brief search for a schedule, in one chain. Constructions decide; walks add a hundredth (bench:
/// dovetail_training_phase).
inline constexpr std::int64_t fused_iterations = 100;

// All REQUIRE: the plan has no fault, and fuses two train tasks.

/// Bytes of each device that are left for the activations of both, less what an allocator reserves beyond them, and
/// less the margin where that leaves any.
std::int64_t activation_room(const Scenario& scenario, const plan::Plan& plan);

/// The same of average micro-batches, by which schedules are made. Nothing where no room is left: such a schedule has
/// no limit.
std::optional<std::int64_t> average_activation_room(const Scenario& scenario, const plan::Plan& plan);

/// IntraStage::overhead.
OverheadSeconds fused_overhead(const Scenario& scenario, const plan::Plan& plan);

/// Where the phase is longer or larger than schedules can be, both follow one another.
IntraStage intra_stage(const Scenario& scenario, const plan::Plan& plan);

/// The same without making a schedule: it takes `over_bound` times the bound, as that of a plan like this one, and
/// holds as many activations as both do by themselves.
IntraStage intra_stage_over_bound(const Scenario& scenario, const plan::Plan& plan, double over_bound);

/// The same without its activations and what both take apart, with fused_training_floor for its schedule and its bound:
/// what a search asks for thousands of times. Nothing where both cannot be fused.
std::optional<IntraStage> intra_stage_floor(const Scenario& scenario, const plan::Plan& plan);

/// The same, longer or shorter than `like`, of the same plan with other efficiencies, as its bound is, and with its
/// activations: what a fit asks for. With the same efficiencies it takes the very same time.
IntraStage intra_stage_like(const Scenario& scenario, const plan::Plan& plan, const IntraStage& like);

}  // namespace dovetail::predict
