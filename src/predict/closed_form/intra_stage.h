// Intra-stage fusion: two train tasks of a plan in one schedule, and the memory that it needs (RLHFuse, NSDI 2025,
// section 5).
//
// The schedule covers all mini-batches (fused_schedule) and is found by a short search. Longer searches gain little, as
// the reported lower bound shows. If such a schedule is found, its activations stay within the memory that both models
// and all other resident data leave free on each device. Otherwise, they are not limited.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan.h"
#include "predict/closed_form/activity_seconds.h"
#include "predict/closed_form/memory.h"
#include "predict/closed_form/training_phase.h"

namespace dovetail::predict {

/// A fused training phase. Times are in seconds.
struct IntraStage {
  plan::TrainPair pair{};
  KeptSchedule schedule;        ///< null if none was made
  double schedule_seconds = 0;  ///< duration of the passes and steps of both trainings
  double bound = 0;             ///< lower bound on every schedule of both trainings
  /// Overhead of both trainings together: host transfers over a shared link, and one hand-over.
  OverheadSeconds overhead;
  double apart = 0;  ///< time of both trainings in sequence, each in its own layout
  /// Peak bytes on a device, with the largest micro-batches. nullopt without a schedule.
  std::optional<std::int64_t> activations;
  bool limited = false;  ///< whether more memory for activations might give another schedule

  double seconds() const { return schedule_seconds + overhead.sum(); }
  double over_bound() const { return schedule_seconds / bound; }
};

/// Returns both trainings as one activity, with a schedule of the given length.
ActivitySeconds fused_training_seconds(double schedule_seconds, const OverheadSeconds& overhead);

/// Iterations of the short search for a schedule, in one chain. Constructed schedules are almost the best, and
/// annealing shortens them by about 1% (bench: dovetail_training_phase).
inline constexpr std::int64_t fused_iterations = 100;

// All functions below REQUIRE: the plan has no fault, and fuses two train tasks.

/// Returns the bytes free for the activations of both trainings, on the device with the least memory left, less the
/// allocator's reserve for them and less the margin. Ignores the margin if nothing would be left.
std::int64_t activation_headroom(const Scenario& scenario, const plan::Plan& plan);

/// Returns activation_headroom for average micro-batches, on which schedules are based. nullopt if no memory is left.
/// The schedule then has no limit.
std::optional<std::int64_t> average_activation_headroom(const Scenario& scenario, const plan::Plan& plan);

/// Returns IntraStage::overhead.
OverheadSeconds fused_overhead(const Scenario& scenario, const plan::Plan& plan);

/// Returns the fused phase. If it is too large or too long for a schedule, the trainings run in sequence.
IntraStage intra_stage(const Scenario& scenario, const plan::Plan& plan);

/// Returns the fused phase without making a schedule. The passes and steps take their lower bound times `over_bound`, a
/// ratio taken from a similar plan. The phase needs as much memory for activations as both trainings need alone, added
/// up.
IntraStage intra_stage_over_bound(const Scenario& scenario, const plan::Plan& plan, double over_bound);

/// Returns the fused phase with fused_training_floor as its schedule time and bound, and without `activations` and
/// `apart`. Fast enough for a search. nullopt if fused_training_floor returns an Error.
std::optional<IntraStage> intra_stage_floor(const Scenario& scenario, const plan::Plan& plan);

/// Returns the fused phase of `plan`, given its phase `like` under other efficiencies. Used to fit efficiencies. Scales
/// the schedule time of `like` by the ratio of the two lower bounds, and copies its activations. Equal efficiencies
/// give exactly the same time.
IntraStage intra_stage_like(const Scenario& scenario, const plan::Plan& plan, const IntraStage& like);

}  // namespace dovetail::predict
