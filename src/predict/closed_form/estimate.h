// Prediction of a plan: how long an iteration takes, where the time goes, and whether the plan fits in memory.
//
// Only timed_iteration() computes the time of a plan, except in the inner loop of the search: planner/space/trial.h has
// separate code, and a test checks that both agree.
//
// Prefetching turns host transfers into separate activities (plan/host_transfers.h) that overlap with other tasks, if
// memory allows. The data of a task may then be on a device while another task runs there. It must fit on the device
// with the least free memory, together with all other prefetched data. Tasks that follow the running task sooner, in
// workflow order, get this space first. If the data does not fit, the transfer and the other task run in sequence.
#pragma once

#include <optional>
#include <vector>

#include "plan/host_transfers.h"
#include "plan/iteration_graph.h"
#include "plan/timing.h"
#include "predict/closed_form/activity_seconds.h"
#include "predict/closed_form/inter_stage.h"
#include "predict/closed_form/intra_stage.h"
#include "predict/closed_form/memory.h"

namespace dovetail::predict {

struct TimedIteration {
  plan::IterationGraph graph;
  /// [activity of graph] 0 seconds for activities within another activity (Activity::within).
  std::vector<ActivitySeconds> activities;
  plan::Timing timing;                    ///< includes the times of activities within another activity
  std::optional<InterStage> inter_stage;  ///< set if the plan fuses generation with inference
  std::optional<IntraStage> intra_stage;  ///< set if the plan fuses two train tasks
  double iteration_seconds = 0;           ///< predict::iteration_seconds of the period
};

/// Results that are already known and expensive to compute. Null: unknown.
struct KnownParts {
  const IntraStage* training = nullptr;             ///< result for the plan's two fused train tasks; may be approximate
  const std::vector<TaskMemory>* memory = nullptr;  ///< task_memory of the plan, needed only for prefetching
};

/// Returns the iteration of a plan in the given order. If `order` is empty, uses the order of the job's framework.
/// Fused tasks form one activity. Generation fused with inference is timed by inter_stage(), and tasks that do not
/// depend on the inference begin when generation ends. Two fused trainings are timed by intra_stage(), or taken from
/// `known`. If the job's software prefetches, host transfers are separate activities, chosen by prefetch(). Durations
/// are rounded to integer ns before timing. REQUIRES: the plan has no fault, and the order places no activity between
/// tasks of one fused activity.
TimedIteration timed_iteration(const Scenario& scenario, const plan::Plan& plan, const plan::IterationOrder& order = {},
                               const KnownParts& known = {});

/// Returns the seconds of an iteration whose activities repeat every `period` seconds, including the time between
/// iterations.
double iteration_seconds(const Scenario& scenario, double period);

/// Returns, for each task and each other task, whether the prefetched data of the first does not fit in memory while
/// the second runs (see the top of this file). Fused tasks and tasks that load nothing from host memory have no
/// conflicts. `graph` is the graph of the plan, with fused tasks as one activity. `memory` is the plan's task_memory.
plan::Conflicts transfer_conflicts(const Scenario& scenario, const plan::Plan& plan, const plan::IterationGraph& graph,
                                   const std::vector<TaskMemory>& memory);

/// Tries to make each host transfer a separate activity, one at a time in the order of the workflow. Reverts a change
/// that makes the iteration longer. Transfers of generate tasks and fused tasks stay within their activity.
/// `activities`: [activity of `graph`]. REQUIRES: no host transfer is a separate activity yet.
void prefetch(const Scenario& scenario, const plan::Plan& plan, const std::vector<TaskMemory>& memory,
              plan::IterationGraph& graph, std::vector<ActivitySeconds>& activities);

struct Estimate : TimedIteration {
  std::vector<TaskMemory> memory;  ///< [task]

  double samples_per_second = 0;
  double tokens_per_second = 0;  ///< prompts and responses of sequences_of_iteration(), per device of the cluster
  double gpu_hours = 0;          ///< per iteration, over all devices of the cluster
  std::optional<double> price;   ///< per iteration; nullopt if the cluster has no price

  Fit fit() const;  ///< fit of the task that fits worst
  bool fits() const { return fit() != Fit::does_not_fit; }
  bool keeps_margin() const { return fit() == Fit::fits; }
};

/// Returns the prediction of a plan: its timed_iteration() with its task_memory(). Everything that reports a
/// plan's closed-form time or memory uses this function. `training`: exact or approximate result for the plan's two
/// fused train tasks; nullopt: it is computed. REQUIRES: the conditions of timed_iteration hold.
Estimate estimate(const Scenario& scenario, const plan::Plan& plan,
                  const std::optional<IntraStage>& training = std::nullopt, const plan::IterationOrder& order = {});

/// Returns the estimate without making a schedule for fused training. The training is assumed to take its lower bound
/// times `over_bound`, a ratio from a similar plan (intra_stage_over_bound). Without `over_bound` or fused training,
/// this is estimate().
Estimate estimate_like(const Scenario& scenario, const plan::Plan& plan, std::optional<double> over_bound);

}  // namespace dovetail::predict
