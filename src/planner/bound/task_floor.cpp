#include "planner/bound/task_floor.h"

#include <algorithm>

#include "predict/closed_form/training_phase.h"
#include "simulate/threshold.h"

namespace dovetail::planner {
namespace {

using workflow::TaskKind;

/// What prefetching may take out of a task's own step; what is fused keeps it.
double hidden_transfers(const predict::Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const TaskKind kind = scenario.job.workflow.tasks[task].kind;
  if (!scenario.job.software.prefetch || (kind != TaskKind::infer && kind != TaskKind::train)) return 0;
  return predict::overhead_seconds(scenario, task, planned).host_transfers;
}

TaskFloor training_floor(const predict::Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const predict::StageWork work = predict::stage_work(scenario, {task, planned});
  const predict::OverheadSeconds overhead = predict::overhead_seconds(scenario, task, planned);
  const double alone = work.busiest + overhead.sum();
  // Both trainings have one hand-over together: half of it is sure of each.
  return {alone, alone, work.mean + overhead.host_transfers + overhead.hand_over / 2};
}

TaskFloor generation_floor(const predict::Scenario& scenario, std::size_t task, const plan::TaskPlan& planned) {
  const auto& fixed = scenario.job.fixed_fusion.threshold;
  TaskFloor floor = all_alike(predict::generation_seconds(scenario, task, planned).sum());
  for (const predict::GenerationTail& tail : predict::generation_tails(
           scenario, task, planned, fixed ? std::vector<double>{*fixed} : simulate::usual_thresholds())) {
    const double before = tail.generation.until + tail.generation.migration;
    floor = min_of(floor, {before, before + tail.generation.tail, before});
  }
  return floor;
}

bool is_in_pair(const plan::Job& job, std::size_t task) {
  const auto pair = plan::train_pair(job);
  return pair && std::find(pair->begin(), pair->end(), task) != pair->end();
}

}  // namespace

TaskFloor all_alike(double seconds) { return {seconds, seconds, seconds}; }

TaskFloor min_of(const TaskFloor& a, const TaskFloor& b) {
  return {std::min(a.seconds, b.seconds), std::min(a.whole, b.whole), std::min(a.busy, b.busy)};
}

TaskFloor task_floor(const predict::Scenario& scenario, std::size_t task, const Choice& choice,
                     FusionSelection fusion) {
  const plan::TaskPlan& planned = choice.planned;
  const double seconds = base::seconds_of_ticks(choice.duration);
  const TaskFloor own = all_alike(seconds - hidden_transfers(scenario, task, planned));
  switch (scenario.job.workflow.tasks[task].kind) {
    case TaskKind::generate:
      return fusion.generation ? min_of(own, generation_floor(scenario, task, planned)) : own;
    case TaskKind::infer: {
      if (!fusion.generation) return own;
      const double passes = seconds - predict::overhead_seconds(scenario, task, planned).sum();
      return {passes, 0, passes};
    }
    case TaskKind::train:
      if (!fusion.training || planned.layout.virtual_stages > 1 || !is_in_pair(scenario.job, task)) return own;
      return min_of(own, training_floor(scenario, task, planned));
    case TaskKind::rule:
      break;
  }
  return own;
}

}  // namespace dovetail::planner
