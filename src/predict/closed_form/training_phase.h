// The training phase as a pipeline schedule: of one task, to check the closed form of cost::training_seconds; of two
// tasks on the same devices, fused (RLHFuse, NSDI 2025, section 5), which has no closed form.
//
// Ops last what cost::training_passes says, in whole ns; a device is the ranks of a stage in one data-parallel rank.
// Each mini-batch ends with a step on every stage, as long as cost::training_seconds' gradients and optimizer: the norm
// of the gradients is of all stages, so that none steps before the slowest has reduced them (StepAfter::model). Under
// ZeRO the next mini-batch of a stage waits for the steps of all its replicas (StepBefore::replicas). Activations are
// in bytes (the problem's unit is 10^6 bytes), of the average micro-batch, by cost::training_memory. What a task has
// beside its passes and steps (host transfers, hand-over) is in none of these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/result.h"
#include "cost/training.h"
#include "fuse/solution/solution.h"
#include "pipeline/problem/fuse_layouts.h"
#include "pipeline/problem/problem.h"
#include "pipeline/schedule/schedule.h"
#include "plan/plan.h"
#include "predict/closed_form/scenario.h"

namespace dovetail::predict {

/// A train task with its part of a plan. Where it is asked for, REQUIRES: the layout has no fault.
struct TrainTask {
  std::size_t task = 0;  ///< of the workflow
  const plan::TaskPlan& planned;
};

/// What each of the task's pipelines does for a micro-batch.
cost::TrainingPasses training_passes(const Scenario& scenario, const TrainTask& train);

/// What the closed form says of the task: all its mini-batches and epochs, pretraining tokens among them.
cost::TrainingSeconds closed_training_seconds(const Scenario& scenario, const TrainTask& train);

/// One data-parallel rank's pipeline, all of them being alike: stage s of p on device s; with v chunks on each, chunk k
/// on device k % p. An Error where a problem cannot be as large or as long.
base::Result<pipeline::Problem> training_problem(const Scenario& scenario, const TrainTask& train);

/// One group of the pipelines of both tasks by pipeline::fuse_layouts, with their messages and steps; a message within
/// merged stages is part of the merged op. An Error says why they cannot be fused: not the same devices, one role,
/// virtual stages, or degrees that do not go together.
base::Result<pipeline::FusedLayouts> fused_training_problem(const Scenario& scenario, const TrainTask& first,
                                                            const TrainTask& second);

/// The schedule that the layout names: 1F1B, interleaved where it has virtual stages. Errors as training_problem.
base::Result<pipeline::Schedule> training_schedule(const Scenario& scenario, const TrainTask& train);

/// The same of a problem of one model on that layout. An Error where the schedule does not apply to it.
base::Result<pipeline::Schedule> schedule_alone(const pipeline::Problem& problem, const llm::Layout& layout);

/// Both one after the other under 1F1B, in the fused problem's stages. Errors as fused_training_problem.
base::Result<pipeline::Schedule> serial_training_schedule(const Scenario& scenario, const TrainTask& first,
                                                          const TrainTask& second);

// All seconds, of what the two closed forms' sums are of.

/// Of training_schedule.
base::Result<double> scheduled_training_seconds(const Scenario& scenario, const TrainTask& train);

/// What no fused schedule of both beats (fuse::Bounds::makespan). Errors as fused_training_problem.
base::Result<double> fused_training_bound(const Scenario& scenario, const TrainTask& first, const TrainTask& second);

/// A part of that bound which takes no graph of ops, so that a search may ask for thousands: over devices the work of
/// both tasks' stages there behind the least head of any, and of each task by itself head, work and tail of every stage
/// in each mini-batch, with its step. Errors as fused_training_problem.
base::Result<double> fused_training_floor(const Scenario& scenario, const TrainTask& first, const TrainTask& second);

/// What the passes and steps of a task keep its stages busy, in whichever schedule.
struct StageWork {
  double busiest = 0;
  double mean = 0;
};
StageWork stage_work(const Scenario& scenario, const TrainTask& train);

/// The search that estimates have for a fused schedule: one chain of `iterations`, and so little beside it that a
/// schedule takes tenths of a second (SolveOptions::brief).
fuse::SolveOptions brief_search(std::int64_t iterations);

/// A schedule that a prediction was made from, for whoever executes or draws it: copies of the prediction share it.
/// Null: none was made.
using KeptSchedule = std::shared_ptr<const pipeline::Schedule>;

/// Both tasks in one schedule.
struct FusedSchedule {
  KeptSchedule schedule;  ///< of fused_training_problem
  double seconds = 0;
  double bound = 0;              ///< fused_training_bound
  std::int64_t activations = 0;  ///< bytes that the fullest device holds at most, of average micro-batches
};

/// The best schedule that fuse's portfolio finds by brief_search(iterations), among those that hold at most
/// `max_activations` bytes on each device where that is given; without it never longer than both one after the other
/// under 1F1B in the fused problem's stages. The same on every machine. Errors as fused_training_problem, and
/// infeasible where none was found that holds so little.
base::Result<FusedSchedule> fused_schedule(const Scenario& scenario, const TrainTask& first, const TrainTask& second,
                                           std::int64_t iterations,
                                           std::optional<std::int64_t> max_activations = std::nullopt);

}  // namespace dovetail::predict
