#include "planner/space/reallocation_table.h"

namespace dovetail::planner {

base::Ticks ReallocationTable::ticks(const Selection& selection, const plan::Activity& activity) {
  const SelectedChoice from = selection[activity.train];
  const SelectedChoice to = selection[activity.task];
  const auto role = static_cast<std::int32_t>(space_.scenario->job.workflow.role_of[activity.task]->index());
  const Key key{role, from.mesh, space_.weight_form(activity.train, from), to.mesh,
                space_.weight_form(activity.task, to)};
  const auto [known, is_new] = known_.try_emplace(key);
  if (is_new) {
    plan::Plan plan;
    plan.tasks.resize(selection.size());
    for (const std::size_t task : {activity.train, activity.task})
      plan.tasks[task] = task_plan_of(space_, task, selection[task]);
    known->second = base::ticks_of_seconds(predict::activity_seconds(*space_.scenario, plan, activity).seconds);
  }
  return known->second;
}

}  // namespace dovetail::planner
