#include "predict/closed_form/estimate.h"

#include <algorithm>

namespace dovetail::predict {

Fit Estimate::fit() const {
  Fit worst = Fit::fits;
  for (const TaskMemory& task : memory) worst = std::max(worst, task.fit());
  return worst;
}

Estimate estimate(const Scenario& scenario, const plan::Plan& plan, const std::optional<IntraStage>& training,
                  const plan::IterationOrder& order) {
  std::optional<IntraStage> fused;
  if (plan.fusion.training) fused = training ? *training : intra_stage(scenario, plan);
  Estimate result;
  result.memory = task_memory(scenario, plan, fused ? fused->activations : std::nullopt);
  static_cast<TimedIteration&>(result) =
      timed_iteration(scenario, plan, order, {fused ? &*fused : nullptr, &result.memory});
  const auto samples = static_cast<double>(scenario.job.workload.samples());
  const double devices = cluster::device_count(scenario.job.cluster);
  result.samples_per_second = samples / result.iteration_seconds;
  result.tokens_per_second =
      sequences_of_iteration(scenario.job) * scenario.lengths.mean() / result.iteration_seconds / devices;
  result.gpu_hours = devices * result.iteration_seconds / 3600;
  if (scenario.job.cluster.price) result.price = *scenario.job.cluster.price * result.gpu_hours;
  return result;
}

Estimate estimate_like(const Scenario& scenario, const plan::Plan& plan, std::optional<double> over_bound) {
  if (!over_bound || !plan.fusion.training) return estimate(scenario, plan);
  return estimate(scenario, plan, intra_stage_over_bound(scenario, plan, *over_bound));
}

}  // namespace dovetail::predict
