#include "plan/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/canonical_json.h"
#include "base/document.h"
#include "base/fields.h"
#include "base/nearest.h"
#include "base/sha256.h"
#include "plan/framework.h"
#include "plan/plan_file_fusion.h"
#include "plan/plan_file_task.h"

namespace dovetail::plan {
namespace {

using base::Node;
using base::quote;
using base::Result;
using base::Status;

Result<TaskPlan> read_task(const Node& node, workflow::TaskKind kind) {
  const bool generates = kind == workflow::TaskKind::generate;
  std::vector<std::string_view> keys = task_keys(kind);
  keys.insert(keys.begin(), "task");
  DOVETAIL_CHECK(base::check_keys(node, generates ? "a generate task" : "an infer or train task", keys));
  DOVETAIL_CHECK(base::require(node, "a task", "devices", "devices: \"0-7\""));
  DOVETAIL_CHECK(base::require(node, "a task", "layout", "layout: {dp: 8}"));
  DOVETAIL_TRY(const TaskPin said, read_task_pin(node));
  if (!generates)
    DOVETAIL_CHECK(base::require(node, "an infer or train task", "micro_batch", "micro_batch: {tokens: 8192}"));
  TaskPlan task;
  apply(said, task);
  return task;
}

/// The hash at `key`; empty where it is not there.
Result<std::string> read_hash(const Node& map, std::string_view key) {
  const auto node = map.find(key);
  if (!node) return std::string();
  if (!node->is_string() || !base::is_sha256_hex(node->text()))
    return node->error(fmt::format("{} is {}; accepted: a SHA-256 as 64 hexadecimal digits in lower case", quote(key),
                                   node->describe()));
  return std::string(node->text());
}

/// Whether `hash`, where it is there, is that of the rest of the file.
Status check_hash(const Node& root) {
  DOVETAIL_TRY(const std::string said, read_hash(root, "hash"));
  if (said.empty()) return {};
  const std::string hash = base::sha256_hex(base::canonical_json(root, "hash"));
  if (said == hash) return {};
  return root.find("hash")->error(fmt::format(
      "`hash` is not that of what is in the file; accepted: {}, or, where the file was changed by hand, no `hash`",
      hash));
}

/// Reads the tasks, each once, and finds what is wrong with them.
class TaskListReader {
 public:
  TaskListReader(const Job& job, const Node& list) : job_(job), list_(list), nodes_(job.workflow.tasks.size()) {}

  Result<std::vector<TaskPlan>> read() {
    if (!list_.is_list()) return list_.error(fmt::format("`tasks` is {}; accepted: a list of maps", list_.describe()));
    std::vector<TaskPlan> tasks(nodes_.size());
    for (std::size_t item = 0; item < list_.size(); ++item) {
      DOVETAIL_TRY(const std::size_t index, find(list_.item(item)));
      DOVETAIL_TRY(tasks[index], read_task(list_.item(item), job_.workflow.tasks[index].kind));
    }
    for (std::size_t index = 0; index < nodes_.size(); ++index)
      if (!nodes_[index] && job_.workflow.tasks[index].kind != workflow::TaskKind::rule)
        return list_.error(fmt::format("`tasks` has no {}; accepted: each task of {} once",
                                       quote(job_.workflow.tasks[index].name), job_.workflow.name));
    if (const auto fault = find_fault(Plan{.placement = {}, .tasks = tasks}, job_))
      return nodes_[fault->task]->error(fmt::format("{}: {}", job_.workflow.tasks[fault->task].name, fault->message));
    for (std::size_t index = 0; index < nodes_.size(); ++index)
      if (nodes_[index]) DOVETAIL_CHECK(check_task(job_, index, *nodes_[index], tasks[index]));
    if (const auto found = find_disagreement(job_, tasks)) {
      const Node& node = *nodes_[found->task];
      return node.find(found->part).value_or(node).error(found->message);
    }
    return tasks;
  }

 private:
  /// Which task `node` speaks of.
  Result<std::size_t> find(const Node& node) {
    DOVETAIL_TRY(const Node name, base::require(node, "a task of a plan", "task", "task: actor_generate"));
    std::vector<std::string_view> names;
    for (const workflow::Task& task : job_.workflow.tasks)
      if (task.kind != workflow::TaskKind::rule) names.push_back(task.name);
    if (!name.is_string())
      return name.error(fmt::format("the task is {}; accepted: {}", name.describe(), fmt::join(names, ", ")));
    const auto task = workflow::find_task(job_.workflow, name.text());
    if (!task || std::find(names.begin(), names.end(), name.text()) == names.end())
      return name.error(fmt::format("there is no task {}{}; accepted: {}", quote(name.text()),
                                    base::did_you_mean(name.text(), names), fmt::join(names, ", ")));
    if (nodes_[task->index()])
      return name.error(fmt::format("{} stands twice; accepted: each task once", quote(name.text())));
    nodes_[task->index()] = node;
    return task->index();
  }

  const Job& job_;
  const Node list_;
  std::vector<std::optional<Node>> nodes_;  // [task]
};

}  // namespace

Result<Plan> parse_plan(std::string_view content, const std::string& path, const Job& job) {
  DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(content, path));
  return read_plan(document.root(), job);
}

Result<Plan> read_plan(const Node& root, const Job& job) {
  DOVETAIL_CHECK(base::require_format(root, "a plan", plan_format));
  DOVETAIL_CHECK(base::check_keys(
      root, "a plan", {"format", "hash", "job", "job_hash", "placement", "tasks", "fusion", "not_modelled"}));
  Plan plan;
  // Which job the plan was made for is for people: it may be held against others.
  DOVETAIL_CHECK(base::find_name(root, "job"));
  DOVETAIL_TRY(plan.job_hash, read_hash(root, "job_hash"));
  DOVETAIL_TRY(plan.placement, base::find_name(root, "placement"));
  if (plan.placement.empty()) plan.placement = "custom";
  DOVETAIL_TRY(const Node tasks, base::require(root, "a plan", "tasks", "tasks: [...]"));
  DOVETAIL_TRY(plan.tasks, TaskListReader(job, tasks).read());
  if (const auto fusion = root.find("fusion")) {
    DOVETAIL_TRY(plan.fusion, read_fusion(*fusion, job, plan.tasks));
  }
  if (const auto settings = root.find("not_modelled")) {
    DOVETAIL_TRY(plan.not_modelled, read_not_modelled(*settings));
  }
  // Last: what is no plan at all has more to say for itself.
  DOVETAIL_CHECK(check_hash(root));
  return plan;
}

}  // namespace dovetail::plan
