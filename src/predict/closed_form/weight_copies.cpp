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
  HeldBytes held{.stored = stored_bytes(scenario, role, planned.layout, stored), .offload = planned.offload};
  const cost::Conventions& conventions = scenario.software.conventions;
  const double share = host_share(planned, conventions);
  if (stored != Stored::trained || share == 0) return held;
  held.host_optimizer = part_of(held.stored.optimizer, share);
  held.stored.optimizer -= held.host_optimizer;
  if (conventions.gradients_follow) {
    // Gradients in fp32, in addition to moments and master weights.
    held.host_gradients = held.host_optimizer / (conventions.moment_bytes + conventions.master_bytes) * 4;
    held.stored.gradients -= part_of(held.stored.gradients, share);
    held.stored.gradients += gradient_buffer_bytes(scenario.job.models[role], planned.layout, conventions);
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

std::int64_t bytes_in_transit(const Scenario& scenario, std::size_t role, bool to_engine) {
  if (!to_engine) return 2 * realloc::PlanOptions{}.bucket;
  const llm::Transformer& model = scenario.job.models[role];
  return 2 * model.vocabulary * model.hidden + plan::sync_bucket(scenario.job);
}

}  // namespace dovetail::predict
