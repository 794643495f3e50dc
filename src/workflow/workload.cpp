#include "workflow/workload.h"

namespace dovetail::workflow {

std::int64_t sequences_of(const Task& task, const Workload& workload) {
  return task.sequences.count *
         (task.sequences.per == SequenceCount::Per::prompt ? workload.prompts : workload.samples());
}

OwnTraining training_of(const Task& task, const Workload& workload) {
  if (workload.critic && task.role == "critic") return *workload.critic;
  return {workload.mini_batches, workload.epochs};
}

std::int64_t optimizer_steps_of(const Task& task, const Workload& workload) {
  const OwnTraining training = training_of(task, workload);
  return training.mini_batches * training.epochs;
}

int sequences_together(const Task& task) {
  return task.kind == TaskKind::train ? static_cast<int>(task.sequences.count) : 1;
}

}  // namespace dovetail::workflow
