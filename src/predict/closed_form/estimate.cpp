#include "predict/closed_form/estimate.h"

#include <algorithm>

namespace dovetail::predict {

Fit Estimate::fit() const {
  Fit worst = Fit::fits;
  for (const TaskMemory& task : memory) worst = std::max(worst, task.fit());
  return worst;
}

Estimate estimate(const Ground& ground, const plan::Plan& plan, const std::optional<IntraStage>& training,
                  const plan::IterationOrder& order) {
  std::optional<IntraStage> fused;
  if (plan.fusion.training) fused = training ? *training : intra_stage(ground, plan);
  Estimate result;
  result.memory = task_memory(ground, plan, fused ? fused->activations : std::nullopt);
  static_cast<TimedIteration&>(result) = timed_iteration(ground, plan, order, {fused ? &*fused : nullptr, &result.memory});
  const auto samples = static_cast<double>(ground.job.workload.samples());
  const double devices = cluster::device_count(ground.job.cluster);
  result.samples_per_second = samples / result.iteration_seconds;
  result.tokens_per_second = sequences_of_iteration(ground.job) * ground.lengths.mean() / result.iteration_seconds / devices;
  result.gpu_hours = devices * result.iteration_seconds / 3600;
  if (ground.job.cluster.price) result.price = *ground.job.cluster.price * result.gpu_hours;
  return result;
}

Estimate estimate_like(const Ground& ground, const plan::Plan& plan, std::optional<double> over_bound) {
  if (!over_bound || !plan.fusion.training) return estimate(ground, plan);
  return estimate(ground, plan, intra_stage_over_bound(ground, plan, *over_bound));
}

}  // namespace dovetail::predict
