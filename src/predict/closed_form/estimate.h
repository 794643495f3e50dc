// The prediction of a plan: how long an iteration takes, where the time goes, and whether it fits.
#pragma once

#include <optional>
#include <vector>

#include "predict/closed_form/timed_iteration.h"

namespace dovetail::predict {

struct Estimate : TimedIteration {
  std::vector<TaskMemory> memory;  ///< [task]

  double samples_per_second = 0;
  double tokens_per_second = 0;  ///< of each device of the cluster: prompts and responses of all samples
  double gpu_hours = 0;          ///< of an iteration, all devices of the cluster
  std::optional<double> price;   ///< of an iteration, where the cluster has a price

  Fit fit() const;  ///< of the task that fits worst
  bool fits() const { return fit() != Fit::does_not_fit; }
  bool keeps_margin() const { return fit() == Fit::fits; }
};

/// The one evaluator of plans: whatever prints a plan's time or memory has it from here. It is the timed_iteration()
/// with its task_memory(). `training`: what two fused train tasks come to, where that is known already or need not be
/// exact. REQUIRES: as timed_iteration.
Estimate estimate(const Scenario& scenario, const plan::Plan& plan,
                  const std::optional<IntraStage>& training = std::nullopt, const plan::IterationOrder& order = {});

/// The estimate of a plan that is like another one, whose fused training was `over_bound` times its bound
/// (intra_stage_over_bound): no schedule is made. Where nothing is given, or no train tasks are fused, it is the
/// estimate itself.
Estimate estimate_like(const Scenario& scenario, const plan::Plan& plan, std::optional<double> over_bound);

}  // namespace dovetail::predict
