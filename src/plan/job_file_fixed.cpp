#include "plan/job_file_fixed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "plan/framework.h"
#include "plan/pin_fault.h"
#include "plan/plan_file_fusion.h"
#include "plan/plan_file_task.h"

namespace dovetail::plan {
namespace {

using base::Node;
using base::quote;
using base::Result;
using base::Status;

constexpr std::string_view placement_key = "placement";
constexpr std::string_view fusion_key = "fusion";

/// A list of names, each once.
Result<std::vector<std::string>> read_placements(const Node& node) {
  constexpr std::string_view accepted = "accepted: a list of names of placements";
  if (!node.is_list() || node.size() == 0)
    return node.error(
        fmt::format("`placement` is {}; {}", node.is_list() ? "an empty list" : node.describe(), accepted));
  std::vector<std::string> names;
  for (std::size_t item = 0; item < node.size(); ++item) {
    const Node name = node.item(item);
    if (!name.is_string() || name.text().empty())
      return name.error(fmt::format("an item of `placement` is {}; {}", name.describe(), accepted));
    if (std::find(names.begin(), names.end(), name.text()) != names.end())
      return name.error(fmt::format("{} stands twice in `placement`; accepted: each name once", quote(name.text())));
    names.emplace_back(name.text());
  }
  return names;
}

/// The task that the key at `key` names.
Result<std::size_t> find_task_at(const Node& key, const workflow::Workflow& workflow) {
  std::vector<std::string_view> names;
  for (const workflow::Task& task : workflow.tasks)
    if (task.kind != workflow::TaskKind::rule) names.push_back(task.name);
  const std::string accepted = fmt::format("accepted: {}, {}, {}", fmt::join(names, ", "), placement_key, fusion_key);
  const auto task = workflow::find_task(workflow, key.text());
  if (!task)
    return key.error(
        fmt::format("there is no task {}{}; {}", quote(key.text()), base::did_you_mean(key.text(), names), accepted));
  if (workflow.tasks[task->index()].kind == workflow::TaskKind::rule)
    return key.error(fmt::format("{} is a rule, of which nothing is planned; {}", quote(key.text()), accepted));
  return task->index();
}

Result<TaskPin> read_pin(const Node& node, const Job& job, std::size_t index) {
  const workflow::Task& task = job.workflow.tasks[index];
  DOVETAIL_CHECK(base::check_keys(node, fmt::format("`fixed` of {}", task.name), task_keys(task.kind)));
  DOVETAIL_TRY(TaskPin pin, read_task_pin(node));
  if (const auto fault = find_fault(pin, model_of(job, workflow::TaskId(index)), job.cluster))
    return node.error(fmt::format("{}: {}", task.name, *fault));
  TaskPlan planned;
  conform(job, index, planned);
  apply(pin, planned);
  DOVETAIL_CHECK(check_task(job, index, node, planned));
  return pin;
}

base::FilePlace place_of(const std::optional<Node>& node) {
  return node ? base::FilePlace{node->line(), node->column()} : base::FilePlace{};
}

PinPlaces places_of(const Node& node) {
  const auto layout = node.find("layout");
  const auto member = [&](std::string_view key) { return place_of(layout ? layout->find(key) : std::nullopt); };
  return {place_of(node), member("tp"), member("pp"), member("zero")};
}

}  // namespace

Status read_fixed(const Node& node, Job& job) {
  if (!node.is_map())
    return node.error(
        fmt::format("`fixed` is {}; accepted: a map from tasks to what is fixed of them", node.describe()));
  std::vector<TaskPin> fixed(job.workflow.tasks.size());
  std::vector<PinPlaces> places(fixed.size());
  for (std::size_t member = 0; member < node.size(); ++member) {
    if (node.key(member) == placement_key) {
      DOVETAIL_TRY(job.placements, read_placements(node.value(member)));
      continue;
    }
    if (node.key(member) == fusion_key) {
      DOVETAIL_TRY(job.fixed_fusion, read_fusion_pin(node.value(member), job));
      continue;
    }
    DOVETAIL_TRY(const std::size_t task, find_task_at(node.key_node(member), job.workflow));
    DOVETAIL_TRY(fixed[task], read_pin(node.value(member), job, task));
    places[task] = places_of(node.value(member));
  }
  if (std::none_of(fixed.begin(), fixed.end(), [](const TaskPin& pin) { return pin != TaskPin{}; })) return {};
  job.fixed = std::move(fixed);
  job.fixed_places = std::move(places);
  return {};
}

}  // namespace dovetail::plan
