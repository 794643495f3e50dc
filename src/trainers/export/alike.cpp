#include "trainers/export/alike.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plan/plan_file.h"

namespace dovetail::trainers {
namespace {

using plan::Plan;
using plan::TaskPlan;
using workflow::TaskKind;

/// What two plans that run alike have alike.
Plan as_run(const plan::Job& job, Plan plan) {
  plan.placement = "custom";
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    TaskPlan& planned = plan.tasks[task];
    const TaskKind kind = job.workflow.tasks[task].kind;
    if (kind == TaskKind::generate)
      planned.micro_batching = {};
    else
      planned.engine = {};
    // Only its third stage is of passes.
    if (kind == TaskKind::infer && planned.layout.zero < 3) planned.layout.zero = 0;
    if (kind == TaskKind::infer) planned.layout.recomputation = llm::Recomputation::none;
    if (planned.layout.data * planned.layout.context == 1) planned.layout.zero = 0;
    if (planned.layout.tensor == 1) planned.layout.sequence_parallel = false;
    if (!job.models[job.workflow.role_of[task] ? job.workflow.role_of[task]->index() : 0].experts)
      planned.layout.expert = planned.layout.expert_tensor = 1;
  }
  return plan;
}

/// The lines of a plan's file that say a task.
std::vector<std::string> task_lines(const plan::Job& job, const Plan& plan) {
  const std::string text = plan::plan_to_json(as_run(job, plan), job);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    if (line.starts_with("  {\"task\"")) {
      if (line.ends_with(",")) line.pop_back();
      lines.push_back(line.substr(2));
    }
    begin = end + 1;
  }
  return lines;
}

}  // namespace

bool run_alike(const plan::Job& job, const Plan& a, const Plan& b) {
  return as_run(job, a).tasks == as_run(job, b).tasks;
}

base::Error cannot_be_said(std::string_view trainer, const plan::Job& job, const Plan& wanted, const Plan& got) {
  const std::vector<std::string> want = task_lines(job, wanted);
  const std::vector<std::string> have = task_lines(job, got);
  std::string text = fmt::format("{} cannot be told to run this plan", trainer);
  for (std::size_t task = 0; task < want.size(); ++task)
    if (want[task] != have[task]) text += fmt::format("\n  wanted  {}\n  it runs {}", want[task], have[task]);
  return base::bad_input(
      fmt::format("{}\naccepted: a plan of a job with `software: {{framework: {}}}`", text, trainer));
}

std::optional<std::string> difference_of(const plan::Job& wanted, const plan::Job& got) {
  const auto names = [](const plan::Job& job) {
    std::vector<std::string> all;
    for (const workflow::Task& task : job.workflow.tasks) all.push_back(task.name);
    return all;
  };
  const auto shapes = [](const plan::Job& job) {
    std::vector<llm::Transformer> all = job.models;
    for (llm::Transformer& each : all) each.name.clear();
    return all;
  };
  const workflow::Workload& a = wanted.workload;
  const workflow::Workload& b = got.workload;
  if (names(wanted) != names(got)) return "other tasks";
  if (shapes(wanted) != shapes(got)) return "other models";
  if (a.prompts != b.prompts || a.samples_per_prompt != b.samples_per_prompt || a.mini_batches != b.mini_batches ||
      a.epochs != b.epochs)
    return "other batches";
  if (a.steps_off_policy != b.steps_off_policy) return "other steps off policy";
  if (a.packing != b.packing) return "rows that are packed otherwise";
  // Who says no lengths has prompts and responses of one length each, which fit beside each other.
  const auto beside_prompts = [](const workflow::Workload& workload) {
    return std::min(workload.response_length.longest(), workload.max_sequence() - workload.prompt_length.longest());
  };
  if (a.prompt_length.longest() != b.prompt_length.longest() || a.max_sequence() != b.max_sequence() ||
      beside_prompts(a) != beside_prompts(b))
    return "other caps of lengths";
  if (cluster::device_count(wanted.cluster) != cluster::device_count(got.cluster)) return "other devices";
  return std::nullopt;
}

}  // namespace dovetail::trainers
