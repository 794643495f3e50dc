#include "plan/job.h"

#include "base/assert.h"

namespace dovetail::plan {

const llm::Transformer& model_of(const Job& job, workflow::TaskId task) {
  const auto role = job.workflow.role_of[task.index()];
  DOVETAIL_ASSERT(role.has_value());
  return job.models[role->index()];
}

}  // namespace dovetail::plan
