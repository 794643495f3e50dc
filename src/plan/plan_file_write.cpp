#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/canonical_json.h"
#include "base/json_object.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "plan/job_canonical.h"
#include "plan/plan_file.h"
#include "plan/plan_file_fusion.h"
#include "plan/plan_file_task.h"

namespace dovetail::plan {
namespace {

using base::json_string;
using base::JsonObject;

/// What a file has to say of a task's part of a plan: all that differs from what a reader takes where nothing is said.
TaskPin said_of(const TaskPlan& plan, workflow::TaskKind kind) {
  TaskPin pin;
  pin.mesh = plan.mesh;
  pin.layout = base::unusual(plan.layout);
  pin.layout.set(&llm::Layout::data, plan.layout.data);
  if (kind == workflow::TaskKind::generate)
    pin.engine = base::unusual(plan.engine);
  else
    pin.micro_batching = plan.micro_batching;
  if (plan.offload != Offload{}) pin.offload = plan.offload;
  return pin;
}

std::string task_text(const TaskPlan& plan, const workflow::Task& task) {
  return fmt::format("  {{\"task\": {}, {}}}", json_string(task.name),
                     task_pin_object(said_of(plan, task.kind)).members());
}

}  // namespace

std::string plan_to_json(const Plan& plan, const Job& job) {
  std::vector<std::string> tasks;
  for (std::size_t task = 0; task < plan.tasks.size(); ++task)
    if (job.workflow.tasks[task].kind != workflow::TaskKind::rule)
      tasks.push_back(task_text(plan.tasks[task], job.workflow.tasks[task]));
  JsonObject format;
  format.add("format", json_string(plan_format));
  JsonObject rest;
  rest.add("job", json_string(job.name));
  rest.add("job_hash", json_string(job_hash(job)));
  rest.add("placement", json_string(plan.placement));
  rest.add("tasks", fmt::format("[\n{}\n]", fmt::join(tasks, ",\n")));
  if (const JsonObject fusion = fusion_object(plan.fusion, job); !fusion.empty()) rest.add("fusion", fusion.text());
  if (const std::vector<NotModelled> settings = joined(plan.not_modelled, job.not_modelled); !settings.empty())
    rest.add("not_modelled", not_modelled_json(settings));
  const std::string hash =
      base::sha256_hex(base::canonical_json(fmt::format("{{{}, {}}}", format.members(), rest.members())));
  format.add("hash", json_string(hash));
  return fmt::format("{{{},\n {}}}\n", format.members(), rest.members());
}

}  // namespace dovetail::plan
