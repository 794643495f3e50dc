#include "planner/space/reallocation_table.h"

namespace dovetail::planner {

base::Ticks ReallocationTable::ticks(const Picks& picks, const plan::Step& step) {
  const Pick from = picks[step.train];
  const Pick to = picks[step.task];
  const auto role = static_cast<std::int32_t>(space_.ground->job.workflow.role_of[step.task]->index());
  const Key key{role, from.mesh, space_.weight_form(step.train, from), to.mesh, space_.weight_form(step.task, to)};
  const auto [known, is_new] = known_.try_emplace(key);
  if (is_new) {
    plan::Plan plan;
    plan.tasks.resize(picks.size());
    for (const std::size_t task : {step.train, step.task}) plan.tasks[task] = task_plan_of(space_, task, picks[task]);
    known->second = base::ticks_of_seconds(predict::step_seconds(*space_.ground, plan, step).seconds);
  }
  return known->second;
}

}  // namespace dovetail::planner
