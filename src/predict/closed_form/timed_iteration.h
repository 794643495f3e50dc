// The time of a plan: the one function that turns a plan and an order into an iteration. What predicts, ranks, fits or
// compares asks it; the inner loop of the search (planner/space/trial.h) has code of its own, which a test holds equal
// to it.
#pragma once

#include <optional>
#include <vector>

#include "plan/iteration_graph.h"
#include "plan/iteration_order.h"
#include "plan/timing.h"
#include "predict/closed_form/activity_seconds.h"
#include "predict/closed_form/inter_stage.h"
#include "predict/closed_form/intra_stage.h"
#include "predict/closed_form/memory.h"

namespace dovetail::predict {

struct TimedIteration {
  plan::IterationGraph graph;
  std::vector<ActivitySeconds> activities;  ///< [activity of graph]; what is within another activity (Activity::within)
                                            ///< has no seconds of its own
  plan::Timing timing;                      ///< of what is within another activity, its part of that
  std::optional<InterStage> inter_stage;    ///< where the plan fuses generation with inference
  std::optional<IntraStage> intra_stage;    ///< where it fuses two train tasks
  double iteration_seconds = 0;             ///< predict::iteration_seconds of the period
};

/// What is known already and takes its time to work out. Null: it is not known.
struct KnownParts {
  const IntraStage* training = nullptr;             ///< of the plan's two fused train tasks, exact or not
  const std::vector<TaskMemory>* memory = nullptr;  ///< task_memory of the plan; only prefetching asks for it
};

/// The iteration of a plan in this order, or, where that is empty, in that of the job's framework. What the plan fuses
/// is one activity: generation with inference as inter_stage() has it, whose other successors begin when generation has
/// ended, two train tasks as intra_stage() does, or `known`. Where the job's software prefetches, host transfers are
/// activities of their own as prefetch() has them. Durations are rounded to whole ns before the activities are timed.
/// REQUIRES: the plan has no fault; nothing that the order puts between tasks of one fused activity.
TimedIteration timed_iteration(const Scenario& scenario, const plan::Plan& plan, const plan::IterationOrder& order = {},
                               const KnownParts& known = {});

/// Seconds of an iteration whose activities repeat every `period` seconds: with what an iteration has beside them.
double iteration_seconds(const Scenario& scenario, double period);

}  // namespace dovetail::predict
