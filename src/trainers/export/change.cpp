#include "trainers/export/change.h"

namespace dovetail::trainers {

std::string flag_text(bool value) { return value ? "True" : "False"; }

const plan::TaskPlan* find_planned(const plan::Job& job, const plan::Plan& plan, std::string_view task) {
  const auto found = workflow::find_task(job.workflow, task);
  return found ? &plan.tasks[found->index()] : nullptr;
}

}  // namespace dovetail::trainers
