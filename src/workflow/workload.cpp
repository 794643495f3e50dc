#include "workflow/workload.h"

namespace dovetail::workflow {

std::int64_t sequences_of(const Task& task, const Workload& workload) {
  return task.sequences.count * (task.sequences.per == SequenceCount::Per::prompt ? workload.prompts : workload.samples());
}

}  // namespace dovetail::workflow
