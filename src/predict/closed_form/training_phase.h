// The training phase as a pipeline schedule. For one task, the schedule is a check on the closed form
// (cost::training_seconds). For two fused tasks on the same devices (RLHFuse, NSDI 2025, section 5), which have no
// closed form, it is the source of the time.
//
// Op durations come from cost::training_passes, in integer ns. A device of the problem represents all ranks that hold
// one stage of one replica. Each mini-batch ends with a step on every stage, which takes the gradient and optimizer
// time of cost::training_seconds. The gradient norm covers all stages, so no stage steps before the slowest one has
// reduced its gradients (StepAfter::model). Under ZeRO, the next mini-batch of a stage waits for the steps of all its
// replicas (StepBefore::replicas). Activations are those of the average micro-batch, from cost::training_memory. The
// problem's unit of activation is 10^6 bytes. Memory counts millionths of this unit, that is, bytes. Host transfers and
// hand-over are not included.
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

/// A train task and its settings in a plan. All functions with a TrainTask REQUIRE: its layout has no fault.
struct TrainTask {
  std::size_t task = 0;  ///< index in the workflow
  const plan::TaskPlan& planned;
};

/// Returns the passes of the average micro-batch on the rank with the most tokens (cost::training_passes).
cost::TrainingPasses training_passes(const Scenario& scenario, const TrainTask& train);

/// Returns the closed-form seconds of the task, for all mini-batches, epochs and pretraining tokens.
cost::TrainingSeconds closed_training_seconds(const Scenario& scenario, const TrainTask& train);

/// Returns the pipeline of one data-parallel rank as a problem. All ranks are assumed to have equal pipelines. Stage s
/// of p is on device s. With v chunks per device, chunk k is on device k % p. Returns an Error if the problem would be
/// too large or too long.
base::Result<pipeline::Problem> training_problem(const Scenario& scenario, const TrainTask& train);

/// Returns one group of the fused pipelines of both tasks (pipeline::fuse_layouts), with their messages and steps. A
/// message between stages that are merged is part of the merged op. Returns an Error if the tasks cannot be fused
/// (plan::find_training_fault), or if the problem would be too large or too long.
base::Result<pipeline::FusedLayouts> fused_training_problem(const Scenario& scenario, const TrainTask& first,
                                                            const TrainTask& second);

/// Returns the schedule that the layout names: 1F1B, or interleaved 1F1B if it has virtual stages. Errors as in
/// training_problem.
base::Result<pipeline::Schedule> training_schedule(const Scenario& scenario, const TrainTask& train);

/// Returns the layout's schedule for a problem of one model: 1F1B, or interleaved 1F1B if the layout has virtual
/// stages. Returns an Error if the schedule does not apply to the problem.
base::Result<pipeline::Schedule> schedule_alone(const pipeline::Problem& problem, const llm::Layout& layout);

/// Returns a schedule of both trainings in sequence under 1F1B, in the fused problem's stages. Errors as in
/// fused_training_problem.
base::Result<pipeline::Schedule> serial_training_schedule(const Scenario& scenario, const TrainTask& first,
                                                          const TrainTask& second);

// The seconds below are the times of passes and steps, without overhead.

/// Returns the makespan of training_schedule() in seconds. Errors as in training_problem.
base::Result<double> scheduled_training_seconds(const Scenario& scenario, const TrainTask& train);

/// Returns a lower bound on every fused schedule of both tasks (fuse::Bounds::makespan). Errors as in
/// fused_training_problem.
base::Result<double> fused_training_bound(const Scenario& scenario, const TrainTask& first, const TrainTask& second);

/// Returns a weaker lower bound that needs no graph of ops, fast enough for a search. It is the maximum of a bound for
/// each device and a bound for each stage. For a device: the work of its stages of both tasks, plus the smallest head
/// of any of them. For a stage: its head, work, tail and step in a mini-batch, times the number of mini-batches. A
/// stage's head is a forward pass through all stages before it, and its tail a backward pass through them. Errors as in
/// fused_training_problem.
base::Result<double> fused_training_floor(const Scenario& scenario, const TrainTask& first, const TrainTask& second);

/// Busy seconds of a task's stages for its passes and steps, in any schedule.
struct StageWork {
  double busiest = 0;  ///< maximum over the stages
  double mean = 0;     ///< mean over the stages
};
StageWork stage_work(const Scenario& scenario, const TrainTask& train);

/// Returns the options of the short search for fused schedules: one chain of `iterations`, and little other work
/// (SolveOptions::brief). A search takes tenths of a second.
fuse::SolveOptions brief_search(std::int64_t iterations);

/// Schedule on which a prediction is based. Copies of the prediction share it. Null: no schedule was made.
using KeptSchedule = std::shared_ptr<const pipeline::Schedule>;

/// Two train tasks in one schedule.
struct FusedSchedule {
  KeptSchedule schedule;  ///< schedule of fused_training_problem
  double seconds = 0;
  double bound = 0;              ///< fused_training_bound
  std::int64_t activations = 0;  ///< peak bytes on a device, for average micro-batches
};

/// Returns the best schedule found by brief_search(iterations), with at most `max_activations` bytes on each device if
/// given. Without a limit, it is never longer than both tasks in sequence under 1F1B in the fused problem's stages.
/// Deterministic across machines. Errors as in fused_training_problem, and infeasible if no schedule within the limit
/// was found.
base::Result<FusedSchedule> fused_schedule(const Scenario& scenario, const TrainTask& first, const TrainTask& second,
                                           std::int64_t iterations,
                                           std::optional<std::int64_t> max_activations = std::nullopt);

}  // namespace dovetail::predict
