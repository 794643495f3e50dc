#include "plan/job.h"

#include "base/assert.h"

namespace dovetail::plan {

bool is_efficiency_file(std::string_view efficiency) {
  return efficiency.ends_with(".json") || efficiency.ends_with(".yaml") || efficiency.ends_with(".yml");
}

const llm::Transformer& model_of(const Job& job, workflow::TaskId task) {
  const auto role = job.workflow.role_of[task.index()];
  DOVETAIL_ASSERT(role.has_value());
  return job.models[role->index()];
}

}  // namespace dovetail::plan
