#include "predict/closed_form/weight_copies.h"

#include "base/assert.h"
#include "realloc/plan.h"

namespace dovetail::predict {

using workflow::TaskKind;

std::vector<WeightCopy> weight_copies(const workflow::Workflow& workflow,
                                      const std::function<bool(std::size_t, std::size_t)>& alike,
                                      const std::function<bool(std::size_t)>& engine) {
  std::vector<WeightCopy> copies;
  for (std::size_t task = 0; task < workflow.tasks.size(); ++task) {
    const TaskKind kind = workflow.tasks[task].kind;
    if (kind == TaskKind::rule) continue;
    const bool trains = kind == TaskKind::train;
    const auto copy = std::find_if(copies.begin(), copies.end(), [&](const WeightCopy& known) {
      return workflow.role_of[known.tasks.front()] == workflow.role_of[task] && known.engine == engine(task) &&
             alike(known.tasks.front(), task);
    });
    if (copy == copies.end()) {
      copies.push_back({{task}, task, trains, engine(task)});
      continue;
    }
    copy->tasks.push_back(task);
    if (trains) copy->owner = task;
    copy->trained = copy->trained || trains;
  }
  return copies;
}

HeldBytes held_bytes(const Scenario& scenario, std::size_t role, const plan::TaskPlan& planned, Stored stored) {
  HeldBytes held{stored_bytes(scenario, role, planned.layout, stored), 0, planned.offload};
  const cost::Conventions& conventions = scenario.software.conventions;
  if (stored == Stored::trained && planned.offload.optimizer_on_host && conventions.gradients_follow) {
    // In fp32, beside moments and master weights.
    held.host_gradients = held.stored.optimizer / (conventions.moment_bytes + conventions.master_bytes) * 4;
    held.stored.gradients = gradient_buffer_bytes(scenario.job.models[role], planned.layout, conventions);
  }
  return held;
}

CopyUse use_by(TaskKind kind) {
  switch (kind) {
    case TaskKind::infer:
      return CopyUse::inference;
    case TaskKind::generate:
      return CopyUse::generation;
    case TaskKind::train:
      return CopyUse::training;
    case TaskKind::rule:
      break;
  }
  DOVETAIL_ASSERT(false);
}

std::int64_t bytes_on_their_way(const Scenario& scenario, std::size_t role, bool to_engine) {
  return to_engine ? 2 * scenario.job.models[role].vocabulary * scenario.job.models[role].hidden
                   : 2 * realloc::PlanOptions{}.bucket;
}

}  // namespace dovetail::predict
