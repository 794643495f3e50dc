// The prediction of a plan: how long an iteration takes, where the time goes, and whether it fits.
#pragma once

#include <optional>
#include <vector>

#include "place/predict/inter_stage.h"
#include "place/predict/intra_stage.h"
#include "place/predict/memory.h"
#include "place/predict/step_seconds.h"
#include "plan/iteration_graph.h"
#include "plan/timing.h"

namespace dovetail::place {

struct Estimate {
  plan::IterationGraph graph;
  std::vector<StepSeconds> steps;         ///< [step of graph]; what is within another step (Step::within) has no seconds of its own
  plan::Timing timing;                    ///< of what is within another step, its part of that
  std::vector<TaskMemory> memory;         ///< [task]
  std::optional<InterStage> inter_stage;  ///< where the plan fuses generation with inference
  std::optional<IntraStage> intra_stage;  ///< where it fuses two train tasks

  double iteration_seconds = 0;  ///< the period of the steps, and what an iteration has beside them
  double samples_per_second = 0;
  double tokens_per_second = 0;  ///< of each device of the cluster: prompts and responses of all samples
  double gpu_hours = 0;          ///< of an iteration, all devices of the cluster
  std::optional<double> price;   ///< of an iteration, where the cluster has a price

  Fit fit() const;  ///< of the task that fits worst
  bool fits() const { return fit() != Fit::does_not_fit; }
  bool keeps_margin() const { return fit() == Fit::fits; }
};

/// The one evaluator of plans: whatever prints a plan's time or memory has it from here. What a plan fuses is one step of the iteration:
/// generation with inference as inter_stage() has it, whose other successors begin when generation has ended, two train tasks as
/// intra_stage() does, or, where that is known already or need not be exact, `training` says. Where the job's software prefetches, host
/// transfers are steps of their own as prefetch() has them. REQUIRES: the plan has no fault.
Estimate estimate(const Ground& ground, const plan::Plan& plan, const std::optional<IntraStage>& training = std::nullopt);

/// The estimate of a plan that is like another one, whose fused training was `over_bound` times its bound (intra_stage_over_bound): no
/// schedule is made. Where nothing is given, or no train tasks are fused, it is the estimate itself.
Estimate estimate_like(const Ground& ground, const plan::Plan& plan, std::optional<double> over_bound);

}  // namespace dovetail::place
