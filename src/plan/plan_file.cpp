#include "plan/plan_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/document.h"
#include "base/enum_names.h"
#include "base/fields.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "plan/framework.h"
#include "plan/plan_members.h"

namespace dovetail::plan {
namespace {

using base::json_string;
using base::JsonObject;
using base::Node;
using base::quote;
using base::Result;
using base::Status;

base::Result<NotModelled> read_setting(const base::Node& node) {
  constexpr std::string_view whole = "an item of `not_modelled`";
  DOVETAIL_CHECK(base::check_keys(node, whole, {"key", "what"}));
  NotModelled setting;
  if (const auto key = node.find("key")) {
    DOVETAIL_TRY(setting.key, base::read_name(*key, "key"));
  }
  DOVETAIL_TRY(const base::Node what, base::require(node, whole, "what", "what: \"fp8: counted as bf16\""));
  DOVETAIL_TRY(setting.what, base::read_name(what, "what"));
  return setting;
}

Result<TaskPlan> read_task(const Node& node, workflow::TaskKind kind) {
  const bool generates = kind == workflow::TaskKind::generate;
  std::vector<std::string_view> keys = task_keys(kind);
  keys.insert(keys.begin(), "task");
  DOVETAIL_CHECK(base::check_keys(node, generates ? "a generate task" : "an infer or train task", keys));
  DOVETAIL_CHECK(base::require(node, "a task", "devices", "devices: \"0-7\""));
  DOVETAIL_CHECK(base::require(node, "a task", "layout", "layout: {dp: 8}"));
  DOVETAIL_TRY(const TaskPin given, read_task_pin(node));
  if (!generates)
    DOVETAIL_CHECK(base::require(node, "an infer or train task", "micro_batch", "micro_batch: {tokens: 8192}"));
  TaskPlan task;
  apply(given, task);
  return task;
}

/// Reads the hash at `key`; an empty string if the key is missing.
Result<std::string> read_hash(const Node& map, std::string_view key) {
  const auto node = map.find(key);
  if (!node) return std::string();
  if (!node->is_string() || !base::is_sha256_hex(node->text()))
    return node->error(fmt::format("{} is {}; accepted: a SHA-256 as 64 hexadecimal digits in lower case", quote(key),
                                   node->describe()));
  return std::string(node->text());
}

/// Checks that `hash`, if given, is the hash of the rest of the file.
Status check_hash(const Node& root) {
  DOVETAIL_TRY(const std::string given, read_hash(root, "hash"));
  if (given.empty()) return {};
  const std::string hash = base::sha256_hex(base::canonical_json(root, "hash"));
  if (given == hash) return {};
  return root.find("hash")->error(fmt::format(
      "`hash` does not match the contents of the file; accepted: {}, or no `hash` if the file was changed by hand",
      hash));
}

/// Reads the tasks and checks them.
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
        return list_.error(fmt::format("`tasks` has no {}; accepted: each task of {} once, except rules",
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
  /// Returns the index of the task that `node` describes.
  Result<std::size_t> find(const Node& node) {
    DOVETAIL_TRY(const Node name, base::require(node, "a task of a plan", "task", "task: actor_generate"));
    std::vector<std::string_view> names;
    for (const workflow::Task& task : job_.workflow.tasks)
      if (task.kind != workflow::TaskKind::rule) names.push_back(task.name);
    if (!name.is_string())
      return name.error(fmt::format("the task is {}; accepted: {}", name.describe(), fmt::join(names, ", ")));
    const auto task = workflow::find_task(job_.workflow, name.text());
    if (!task || std::find(names.begin(), names.end(), name.text()) == names.end())
      return name.error(fmt::format("unknown task {}{}; accepted: {}", quote(name.text()),
                                    base::did_you_mean(name.text(), names), fmt::join(names, ", ")));
    if (nodes_[task->index()])
      return name.error(fmt::format("{} appears twice; accepted: each task once", quote(name.text())));
    nodes_[task->index()] = node;
    return task->index();
  }

  const Job& job_;
  const Node list_;
  std::vector<std::optional<Node>> nodes_;  // [task]
};

/// The settings of a task that differ from the defaults of plan files, and the settings without a default.
TaskPin settings_to_write(const TaskPlan& plan, workflow::TaskKind kind) {
  TaskPin pin;
  pin.mesh = plan.mesh;
  pin.layout = base::non_default(plan.layout);
  pin.layout.set(&llm::Layout::data, plan.layout.data);
  if (kind == workflow::TaskKind::generate)
    pin.engine = base::non_default(plan.engine);
  else
    pin.micro_batching = plan.micro_batching;
  if (plan.offload != Offload{}) pin.offload = plan.offload;
  return pin;
}

std::string task_text(const TaskPlan& plan, const workflow::Task& task) {
  return fmt::format("  {{\"task\": {}, {}}}", json_string(task.name),
                     task_pin_object(settings_to_write(plan, task.kind)).members());
}

}  // namespace

base::Result<std::vector<NotModelled>> read_not_modelled(const base::Node& node) {
  if (!node.is_list())
    return node.error(
        fmt::format("`not_modelled` is {}; accepted: a list of maps with the keys `key` and `what`", node.describe()));
  std::vector<NotModelled> settings;
  for (std::size_t index = 0; index < node.size(); ++index) {
    DOVETAIL_TRY(NotModelled setting, read_setting(node.item(index)));
    settings.push_back(std::move(setting));
  }
  return settings;
}

std::string not_modelled_json(const std::vector<NotModelled>& settings) {
  std::vector<std::string> items;
  for (const NotModelled& setting : settings) {
    base::JsonObject item;
    if (!setting.key.empty()) item.add("key", base::json_string(setting.key));
    item.add("what", base::json_string(setting.what));
    items.push_back("  " + item.text());
  }
  return fmt::format("[\n{}\n]", fmt::join(items, ",\n"));
}

Result<Plan> parse_plan(std::string_view content, const std::string& path, const Job& job) {
  DOVETAIL_TRY(const base::Document document, base::parse_yaml_or_json(content, path));
  return read_plan(document.root(), job);
}

Result<Plan> read_plan(const Node& root, const Job& job) {
  DOVETAIL_CHECK(base::require_format(root, "a plan", plan_format));
  DOVETAIL_CHECK(base::check_keys(
      root, "a plan", {"format", "hash", "job", "job_hash", "placement", "tasks", "fusion", "not_modelled"}));
  Plan plan;
  // `job` is for people only: a plan can be used for another job.
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
  // Checked last: for a file that is not a plan, the errors above are more useful.
  DOVETAIL_CHECK(check_hash(root));
  return plan;
}

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
