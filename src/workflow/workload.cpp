#include "workflow/workload.h"

namespace dovetail::workflow {

std::int64_t sequences_of(const Task& task, const Workload& workload) {
  return task.sequences.count *
         (task.sequences.per == SequenceCount::Per::prompt ? workload.prompts : workload.samples());
}

int sequences_together(const Task& task) {
  return task.kind == TaskKind::train ? static_cast<int>(task.sequences.count) : 1;
}

}  // namespace dovetail::workflow
