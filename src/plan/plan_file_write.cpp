#include <fmt/format.h>

#include <optional>
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
#include "plan/plan_file_words.h"

namespace dovetail::plan {
namespace {

using base::json_string;
using base::JsonObject;

/// What differs from what a reader takes where nothing is said.
template <class T>
std::optional<T> unusual(const T& value, const T& usual) {
  return value == usual ? std::nullopt : std::optional<T>(value);
}

/// What a file has to say of a task's part of a plan.
TaskPin said_of(const TaskPlan& plan, workflow::TaskKind kind) {
  const TaskPlan usual;
  TaskPin pin;
  pin.mesh = plan.mesh;
  for (const DegreeWord& word : degree_words) pin.*word.fixed = unusual(plan.layout.*word.member, usual.layout.*word.member);
  pin.data = plan.layout.data;
  pin.zero = unusual(plan.layout.zero, usual.layout.zero);
  pin.sequence_parallel = unusual(plan.layout.sequence_parallel, usual.layout.sequence_parallel);
  pin.recomputation = unusual(plan.layout.recomputation, usual.layout.recomputation);
  pin.stage_layers = unusual(plan.layout.stage_layers, usual.layout.stage_layers);
  if (kind == workflow::TaskKind::generate) {
    pin.engine.memory_utilization = unusual(plan.engine.memory_utilization, usual.engine.memory_utilization);
    pin.engine.max_num_seqs = unusual(plan.engine.max_num_seqs, usual.engine.max_num_seqs);
    pin.engine.max_num_batched_tokens = unusual(plan.engine.max_num_batched_tokens, usual.engine.max_num_batched_tokens);
    pin.engine.chunked_prefill = unusual(plan.engine.chunked_prefill, usual.engine.chunked_prefill);
    pin.engine.longest_first = unusual(plan.engine.longest_first, usual.engine.longest_first);
    pin.engine.cuda_graphs = unusual(plan.engine.cuda_graphs, usual.engine.cuda_graphs);
    pin.engine.own_weights = unusual(plan.engine.own_weights, usual.engine.own_weights);
  } else {
    pin.micro_batching = plan.micro_batching;
  }
  pin.offload = unusual(plan.offload, usual.offload);
  return pin;
}

std::string task_text(const TaskPlan& plan, const workflow::Task& task) {
  return fmt::format("  {{\"task\": {}, {}}}", json_string(task.name), task_pin_object(said_of(plan, task.kind)).members());
}

}  // namespace

std::string plan_to_json(const Plan& plan, const Job& job) {
  std::vector<std::string> tasks;
  for (std::size_t task = 0; task < plan.tasks.size(); ++task)
    if (job.workflow.tasks[task].kind != workflow::TaskKind::rule) tasks.push_back(task_text(plan.tasks[task], job.workflow.tasks[task]));
  JsonObject format;
  format.add("format", json_string(plan_format));
  JsonObject rest;
  rest.add("job", json_string(job.name));
  rest.add("job_hash", json_string(job_hash(job)));
  rest.add("placement", json_string(plan.placement));
  rest.add("tasks", fmt::format("[\n{}\n]", fmt::join(tasks, ",\n")));
  if (const JsonObject fusion = fusion_object(plan.fusion, job); !fusion.empty()) rest.add("fusion", fusion.text());
  const std::string hash = base::sha256_hex(base::canonical_json(fmt::format("{{{}, {}}}", format.members(), rest.members())));
  format.add("hash", json_string(hash));
  return fmt::format("{{{},\n {}}}\n", format.members(), rest.members());
}

}  // namespace dovetail::plan
