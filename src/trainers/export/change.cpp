#include "trainers/export/change.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan_file.h"

namespace dovetail::trainers {
namespace {

/// Returns whether both setters have the same key, ignoring Hydra's prefix.
bool is_same_setting(const Setter& a, const Setter& b) {
  const auto bare = [](std::string_view key) { return key.substr(std::min(key.find_first_not_of('+'), key.size())); };
  return bare(a.key) == bare(b.key);
}

/// Returns the change whose main setting has the same key, or null.
Change* value_text(std::vector<Change>& all, const Setter& set) {
  const auto found = std::ranges::find_if(all, [&](const Change& change) { return is_same_setting(change.set, set); });
  return found == all.end() ? nullptr : &*found;
}

bool is_set_in(const std::vector<Change>& all, const Setter& set) {
  return std::ranges::any_of(all, [&](const Change& change) {
    return is_same_setting(change.set, set) ||
           std::ranges::any_of(change.with, [&](const Setter& more) { return is_same_setting(more, set); });
  });
}

}  // namespace

std::string flag_text(bool value) { return value ? "True" : "False"; }

std::string yaml_flag(bool value) { return value ? "true" : "false"; }

std::string megatron_granularity(llm::Recomputation recomputation) {
  if (recomputation == llm::Recomputation::none) return "null";
  return recomputation == llm::Recomputation::full ? "full" : "selective";
}

std::optional<std::string> megatron_modules(llm::Recomputation recomputation) {
  if (recomputation == llm::Recomputation::selective) return "[core_attn]";
  if (recomputation == llm::Recomputation::experts) return "[moe]";
  return std::nullopt;
}

std::string number_text(double value) { return fmt::format("{}", value); }

std::vector<std::string> arguments_of(const Change& change) {
  const auto word = [](const Setter& set) {
    if (!set.key.starts_with("--")) return fmt::format("{}={}", set.key, set.value);
    return set.value.empty() ? set.key : fmt::format("{} {}", set.key, set.value);
  };
  std::vector<std::string> arguments;
  for (const std::string& name : change.without) arguments.push_back("without " + name);
  arguments.push_back(change.removes ? "without " + change.set.key : word(change.set));
  for (const Setter& more : change.with) arguments.push_back(word(more));
  return arguments;
}

std::vector<Change> joined(const std::vector<Change>& first, std::vector<Change> second) {
  std::vector<Change> all;
  for (Change change : first) {
    std::erase_if(change.with, [&](const Setter& more) { return is_set_in(second, more); });
    Change* const later = value_text(second, change.set);
    if (later == nullptr) {
      all.push_back(std::move(change));
      continue;
    }
    later->with.insert(later->with.end(), change.with.begin(), change.with.end());
    later->without.insert(later->without.end(), change.without.begin(), change.without.end());
    later->in_place = later->in_place || change.in_place;
  }
  all.insert(all.end(), std::make_move_iterator(second.begin()), std::make_move_iterator(second.end()));
  return all;
}

void ChangeList::set(std::string_view key, std::string value, std::vector<Setter> with) {
  all.push_back({.set = {std::string(key), std::move(value)}, .with = std::move(with)});
}

void ChangeList::set_flag(std::string_view flag, bool on, std::vector<Setter> with) {
  all.push_back({.set = {std::string(flag), {}}, .with = std::move(with), .removes = !on});
}

const plan::TaskPlan* find_planned(const plan::Job& job, const plan::Plan& plan, std::string_view task) {
  const auto found = workflow::find_task(job.workflow, task);
  return found ? &plan.tasks[found->index()] : nullptr;
}

namespace {

using plan::Plan;
using plan::TaskPlan;
using workflow::TaskKind;

/// Returns the plan with members that have no effect set to their defaults.
Plan as_run(const plan::Job& job, Plan plan) {
  plan.placement = "custom";
  for (std::size_t task = 0; task < plan.tasks.size(); ++task) {
    TaskPlan& planned = plan.tasks[task];
    const TaskKind kind = job.workflow.tasks[task].kind;
    if (kind == TaskKind::generate)
      planned.micro_batching = {};
    else
      planned.engine = {};
    // Only ZeRO stage 3 affects inference.
    if (kind == TaskKind::infer && planned.layout.zero < 3) planned.layout.zero = 0;
    if (kind == TaskKind::infer) planned.layout.recomputation = llm::Recomputation::none;
    if (planned.layout.data * planned.layout.context == 1) planned.layout.zero = 0;
    if (planned.layout.tensor == 1) planned.layout.sequence_parallel = false;
    if (!job.models[job.workflow.role_of[task] ? job.workflow.role_of[task]->index() : 0].experts)
      planned.layout.expert = planned.layout.expert_tensor = 1;
  }
  return plan;
}

/// Returns the lines of the plan's JSON that describe tasks.
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

bool run_equally(const plan::Job& job, const Plan& a, const Plan& b) {
  return as_run(job, a).tasks == as_run(job, b).tasks;
}

base::Error inexpressible(std::string_view trainer, const plan::Job& job, const Plan& requested, const Plan& actual) {
  const std::vector<std::string> want = task_lines(job, requested);
  const std::vector<std::string> have = task_lines(job, actual);
  std::string text = fmt::format("{} cannot express this plan", trainer);
  for (std::size_t task = 0; task < want.size(); ++task)
    if (want[task] != have[task]) text += fmt::format("\n  wanted {}\n  gets   {}", want[task], have[task]);
  return base::bad_input(
      fmt::format("{}\naccepted: a plan of a job with `software: {{framework: {}}}`", text, trainer));
}

std::optional<std::string> difference_of(const plan::Job& requested, const plan::Job& actual) {
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
  const workflow::Workload& a = requested.workload;
  const workflow::Workload& b = actual.workload;
  if (names(requested) != names(actual)) return "different tasks";
  if (shapes(requested) != shapes(actual)) return "different models";
  if (a.prompts != b.prompts || a.samples_per_prompt != b.samples_per_prompt || a.mini_batches != b.mini_batches ||
      a.epochs != b.epochs)
    return "different batches";
  if (a.steps_off_policy != b.steps_off_policy) return "different off-policy steps";
  if (a.packing != b.packing) return "different packing";
  // Without given lengths, all prompts and responses have fixed lengths whose sum is within the sequence cap.
  const auto max_response = [](const workflow::Workload& workload) {
    return std::min(workload.response_length.longest(), workload.max_sequence() - workload.prompt_length.longest());
  };
  if (a.prompt_length.longest() != b.prompt_length.longest() || a.max_sequence() != b.max_sequence() ||
      max_response(a) != max_response(b))
    return "different length caps";
  if (cluster::device_count(requested.cluster) != cluster::device_count(actual.cluster)) return "different devices";
  return std::nullopt;
}

}  // namespace dovetail::trainers
