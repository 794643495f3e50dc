#include "predict/closed_form/timed_iteration.h"

#include <utility>

#include "base/assert.h"
#include "plan/framework.h"
#include "predict/closed_form/prefetch.h"

namespace dovetail::predict {
namespace {

/// Makes one activity of `leader` and `members`.
void make_one(TimedIteration& result, std::size_t leader, const std::vector<std::size_t>& members,
              ActivitySeconds seconds) {
  plan::put_within(result.graph, leader, members);
  result.activities[leader] = std::move(seconds);
  for (const std::size_t member : members) result.activities[member] = sum_of({{SecondsOf::nothing, 0}});
}

void fuse_generation(const Scenario& scenario, const plan::Plan& plan, TimedIteration& result) {
  const InterStage fused = inter_stage(scenario, plan.tasks, *plan.fusion.threshold);
  make_one(result, fused.stage.generate, fused.stage.infer, activity_seconds(fused));
  plan::release(result.graph, fused.stage.generate, fused.early());
  result.inter_stage = fused;
}

void fuse_training(const Scenario& scenario, const plan::Plan& plan, const IntraStage* known, TimedIteration& result) {
  result.intra_stage = known != nullptr ? *known : intra_stage(scenario, plan);
  const auto [first, second] = result.intra_stage->pair;
  make_one(result, first, {second},
           fused_training_seconds(result.intra_stage->schedule_seconds, result.intra_stage->overhead));
}

/// Gives what is within another activity its part of that one's time.
void place_members(TimedIteration& result) {
  std::vector<plan::ActivityTime>& times = result.timing.activities;
  if (const auto& fused = result.intra_stage) times[fused->pair[1]] = times[fused->pair[0]];
  if (const auto& fused = result.inter_stage) {
    plan::ActivityTime& whole = times[fused->stage.generate];
    const base::Ticks inference = base::ticks_of_seconds(fused->inference_begins());
    for (const std::size_t task : fused->stage.infer) times[task] = {whole.begin + inference, whole.end};
    whole.end = whole.begin + base::ticks_of_seconds(fused->generation_ends());
  }
}

void prefetch_transfers(const Scenario& scenario, const plan::Plan& plan, const std::vector<TaskMemory>* memory,
                        TimedIteration& result) {
  std::vector<TaskMemory> own;
  if (memory == nullptr)
    own = task_memory(scenario, plan, result.intra_stage ? result.intra_stage->activations : std::nullopt);
  prefetch(scenario, plan, memory != nullptr ? *memory : own, result.graph, result.activities);
}

}  // namespace

TimedIteration timed_iteration(const Scenario& scenario, const plan::Plan& plan, const plan::IterationOrder& asked,
                               const KnownParts& known) {
  TimedIteration result;
  const plan::IterationOrder order = asked.empty() ? plan::order_of(scenario.job) : asked;
  result.graph = plan::iteration_graph(scenario.job, plan);
  plan::add_order(result.graph, order);
  for (const plan::Activity& activity : result.graph.activities)
    result.activities.push_back(activity_seconds(scenario, plan, activity));
  if (plan.fusion.threshold) fuse_generation(scenario, plan, result);
  if (plan.fusion.training) fuse_training(scenario, plan, known.training, result);
  DOVETAIL_ASSERT(order.empty() || !plan::has_circle(result.graph));
  if (scenario.job.software.prefetch) prefetch_transfers(scenario, plan, known.memory, result);
  result.timing = plan::time_iterations(result.graph, scenario.job, plan, durations_of(result.activities));
  place_members(result);
  result.iteration_seconds = iteration_seconds(scenario, base::seconds_of_ticks(result.timing.period));
  return result;
}

double iteration_seconds(const Scenario& scenario, double period) {
  return period + scenario.software.efficiency.iteration;
}

}  // namespace dovetail::predict
