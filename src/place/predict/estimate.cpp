#include "place/predict/estimate.h"

#include <algorithm>
#include <cmath>

#include "place/predict/prefetch.h"
#include "simulate/step_clock.h"

namespace dovetail::place {
namespace {

/// Makes one step of what the plan fuses.
void fuse_steps(const Ground& ground, const plan::Plan& plan, const std::optional<IntraStage>& training, Estimate& result) {
  const auto put_within = [&](std::size_t leader, const std::vector<std::size_t>& members, std::vector<SecondsPart> parts) {
    plan::put_within(result.graph, leader, members);
    result.steps[leader] = sum_of(std::move(parts));
    for (const std::size_t member : members) result.steps[member] = sum_of({{"within another step", 0}});
  };
  if (plan.fusion.threshold) {
    const InterStage fused = inter_stage(ground, plan.tasks, *plan.fusion.threshold);
    put_within(fused.stage.generate, fused.stage.infer,
               {{"until the threshold", fused.until},
                {"migration", fused.migration},
                {"tail, beside scoring", fused.tail},
                {"scoring of the rest", fused.rest}});
    plan::release(result.graph, fused.stage.generate, simulate::ticks_of(fused.seconds()) - simulate::ticks_of(fused.generation_ends()));
    result.inter_stage = fused;
  }
  if (plan.fusion.training) {
    const IntraStage fused = training ? *training : intra_stage(ground, plan);
    put_within(
        fused.pair[0], {fused.pair[1]},
        {{"fused schedule", fused.schedule}, {host_transfers, fused.overhead.host_transfers}, {"hand-over", fused.overhead.hand_over}});
    result.intra_stage = fused;
  }
}

/// Gives what is within another step its part of that one's time.
void place_members(Estimate& result) {
  std::vector<plan::StepTime>& times = result.timing.steps;
  if (const auto& fused = result.intra_stage) times[fused->pair[1]] = times[fused->pair[0]];
  if (const auto& fused = result.inter_stage) {
    plan::StepTime& whole = times[fused->stage.generate];
    for (const std::size_t task : fused->stage.infer) times[task] = {whole.begin + simulate::ticks_of(fused->scoring_begins()), whole.end};
    whole.end = whole.begin + simulate::ticks_of(fused->generation_ends());
  }
}

}  // namespace

Fit Estimate::fit() const {
  Fit worst = Fit::fits;
  for (const TaskMemory& task : memory) worst = std::max(worst, task.fit());
  return worst;
}

Estimate estimate(const Ground& ground, const plan::Plan& plan, const std::optional<IntraStage>& training) {
  Estimate result;
  result.graph = plan::iteration_graph(ground.job, plan);
  for (const plan::Step& step : result.graph.steps) result.steps.push_back(step_seconds(ground, plan, step));
  fuse_steps(ground, plan, training, result);
  result.memory = task_memory(ground, plan, result.intra_stage ? result.intra_stage->activations : std::nullopt);
  if (ground.job.software.prefetch) prefetch(ground, plan, result.memory, result.graph, result.steps);
  std::vector<base::Ticks> durations;
  for (const StepSeconds& step : result.steps) durations.push_back(simulate::ticks_of(step.seconds));
  result.timing = plan::time_iterations(result.graph, ground.job, plan, durations);
  place_members(result);
  result.iteration_seconds = static_cast<double>(result.timing.period.count()) * 1e-9 + ground.software.efficiency.iteration;
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

}  // namespace dovetail::place
