#include "workflow/workload.h"

#include <utility>

#include "workflow/lengths.h"

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

void set_responses(Workload& workload, LengthDistribution responses) {
  workload.uncut_responses.reset();
  const std::int64_t cap = workload.sequence_cap;
  if (cap > 0 && workload.prompt_length.longest() + responses.longest() > cap)
    workload.uncut_responses = std::exchange(responses, truncate_to_context(responses, workload.prompt_length, cap));
  workload.response_length = std::move(responses);
}

const LengthDistribution& responses_before_cap(const Workload& workload) {
  return workload.uncut_responses ? *workload.uncut_responses : workload.response_length;
}

}  // namespace dovetail::workflow
