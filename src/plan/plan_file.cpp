#include "plan/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/document.h"
#include "base/nearest.h"
#include "plan/plan_file_words.h"
#include "workflow/numbers.h"

namespace dovetail::plan {
namespace {

using base::Node;
using base::quote;
using base::Result;
using base::Status;

/// Limits of what a file may ask for: sequences, tokens and devices; a parallel degree, and the layers of a stage (as llm::find_fault has
/// them).
constexpr std::int64_t most = 1 << 24;
constexpr std::int64_t largest_degree = 1 << 16;
constexpr std::int64_t largest_zero = 3;
constexpr std::int64_t most_layers = 1 << 12;

/// Reads `key` of `map` into `value` where it is there.
Status read_optional(const Node& map, std::string_view key, std::int64_t least, std::int64_t& value, std::int64_t limit = most) {
  if (const auto node = map.find(key)) {
    DOVETAIL_TRY(value, base::read_whole(*node, quote(key), least, limit));
  }
  return {};
}

Status read_optional(const Node& map, std::string_view key, std::int64_t least, int& value, std::int64_t limit = most) {
  std::int64_t whole = value;
  DOVETAIL_CHECK(read_optional(map, key, least, whole, limit));
  value = static_cast<int>(whole);
  return {};
}

Status read_optional(const Node& map, std::string_view key, bool& value) {
  const auto node = map.find(key);
  if (!node) return {};
  if (!node->is_boolean()) return node->error(fmt::format("{} is {}; accepted: true or false", quote(key), node->describe()));
  value = node->text() == "true";
  return {};
}

Status read_recomputation(const Node& map, llm::Recomputation& value) {
  const auto node = map.find("recompute");
  if (!node) return {};
  for (const auto& [name, recomputation] : recomputation_words) {
    if (!node->is_string() || node->text() != name) continue;
    value = recomputation;
    return {};
  }
  return node->error(fmt::format("`recompute` is {}; accepted: none, selective, full", node->describe()));
}

Result<llm::Layout> read_layout(const Node& node) {
  DOVETAIL_CHECK(base::check_keys(node, "a layout",
                                  {"dp", "tp", "pp", "cp", "ep", "etp", "vpp", "zero", "sequence_parallel", "recompute", "stage_layers"}));
  llm::Layout layout;
  for (const auto& [name, member] : degree_words) DOVETAIL_CHECK(read_optional(node, name, 1, layout.*member, largest_degree));
  DOVETAIL_CHECK(read_optional(node, "zero", 0, layout.zero, largest_zero));
  DOVETAIL_CHECK(read_optional(node, "sequence_parallel", layout.sequence_parallel));
  DOVETAIL_CHECK(read_recomputation(node, layout.recomputation));
  const auto layers = node.find("stage_layers");
  if (!layers) return layout;
  if (!layers->is_list()) return layers->error(fmt::format("`stage_layers` is {}; accepted: a list of numbers", layers->describe()));
  for (std::size_t stage = 0; stage < layers->size(); ++stage) {
    DOVETAIL_TRY(const std::int64_t count, base::read_whole(layers->item(stage), "the number of layers of a stage", 0, most_layers));
    layout.stage_layers.push_back(static_cast<int>(count));
  }
  return layout;
}

/// "0-7" or "3".
Result<cluster::Mesh> read_devices(const Node& node) {
  const auto number = [](std::string_view digits) -> std::optional<int> {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || digits.empty()) return std::nullopt;
    return value;
  };
  if (node.is_string() || node.is_number()) {
    const std::string_view text = node.text();
    const std::size_t dash = text.find('-');
    const auto first = number(text.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number(text.substr(dash + 1));
    if (first && last && *first >= 0 && *last >= *first && *last < most) return cluster::Mesh{*first, *last - *first + 1};
  }
  return node.error(fmt::format("`devices` is {}; accepted: \"FIRST-LAST\", or the number of one device", node.describe()));
}

Result<MicroBatching> read_micro_batching(const Node& node) {
  DOVETAIL_CHECK(base::check_keys(node, "`micro_batch`", {"sequences", "tokens", "count"}));
  MicroBatching micro_batching;
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;
  DOVETAIL_CHECK(read_optional(node, "sequences", 1, sequences));
  DOVETAIL_CHECK(read_optional(node, "tokens", 1, tokens));
  DOVETAIL_CHECK(read_optional(node, "count", 1, micro_batching.count));
  micro_batching.sequences = static_cast<double>(sequences);
  micro_batching.tokens = static_cast<double>(tokens);
  return micro_batching;
}

Result<Engine> read_engine(const Node& node) {
  DOVETAIL_CHECK(
      base::check_keys(node, "`engine`", {"memory_utilization", "max_num_seqs", "max_num_batched_tokens", "cuda_graphs", "own_weights"}));
  Engine engine;
  if (const auto share = node.find("memory_utilization")) {
    DOVETAIL_TRY(engine.memory_utilization, workflow::read_number(*share, "`memory_utilization`", 0, 1));
  }
  DOVETAIL_CHECK(read_optional(node, "max_num_seqs", 1, engine.max_num_seqs));
  DOVETAIL_CHECK(read_optional(node, "max_num_batched_tokens", 1, engine.max_num_batched_tokens));
  DOVETAIL_CHECK(read_optional(node, "cuda_graphs", engine.cuda_graphs));
  DOVETAIL_CHECK(read_optional(node, "own_weights", engine.own_weights));
  return engine;
}

Result<Offload> read_offload(const Node& node) {
  constexpr std::string_view accepted = "accepted: a list of weights, gradients, optimizer, optimizer_on_host";
  if (!node.is_list()) return node.error(fmt::format("`offload` is {}; {}", node.describe(), accepted));
  Offload offload;
  for (std::size_t item = 0; item < node.size(); ++item) {
    const Node word = node.item(item);
    const auto found = std::find_if(offload_words.begin(), offload_words.end(),
                                    [&word](const auto& pair) { return word.is_string() && word.text() == pair.first; });
    if (found == offload_words.end()) return word.error(fmt::format("an item of `offload` is {}; {}", word.describe(), accepted));
    if (offload.*found->second)
      return word.error(fmt::format("{} stands twice in `offload`; accepted: each word once", quote(word.text())));
    offload.*found->second = true;
  }
  return offload;
}

Result<TaskPlan> read_task(const Node& node, workflow::TaskKind kind) {
  const bool generates = kind == workflow::TaskKind::generate;
  DOVETAIL_CHECK(base::check_keys(node, generates ? "a generate task" : "an infer or train task",
                                  {"task", "devices", "layout", generates ? "engine" : "micro_batch", "offload"}));
  DOVETAIL_TRY(const Node devices, base::require(node, "a task", "devices", "devices: \"0-7\""));
  DOVETAIL_TRY(const Node layout, base::require(node, "a task", "layout", "layout: {dp: 8}"));
  TaskPlan task;
  DOVETAIL_TRY(task.mesh, read_devices(devices));
  DOVETAIL_TRY(task.layout, read_layout(layout));
  if (const auto engine = node.find("engine")) {
    DOVETAIL_TRY(task.engine, read_engine(*engine));
  }
  if (!generates) {
    DOVETAIL_TRY(const Node micro_batch, base::require(node, "an infer or train task", "micro_batch", "micro_batch: {tokens: 8192}"));
    DOVETAIL_TRY(task.micro_batching, read_micro_batching(micro_batch));
  }
  if (const auto offload = node.find("offload")) {
    DOVETAIL_TRY(task.offload, read_offload(*offload));
  }
  return task;
}

/// A name for messages and tables; empty where it is not there.
Result<std::string> read_name(const Node& map, std::string_view key) {
  const auto node = map.find(key);
  if (!node) return std::string();
  std::string name(node->is_string() ? node->text() : "");
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  if (name.empty() || std::any_of(name.begin(), name.end(), is_control))
    return node->error(fmt::format("{} is {}; accepted: a name", quote(key), node->describe()));
  return name;
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
        return list_.error(
            fmt::format("`tasks` has no {}; accepted: each task of {} once", quote(job_.workflow.tasks[index].name), job_.workflow.name));
    if (const auto fault = find_fault(Plan{{}, tasks}, job_))
      return nodes_[fault->task]->error(fmt::format("{}: {}", job_.workflow.tasks[fault->task].name, fault->message));
    return tasks;
  }

 private:
  /// Which task `node` speaks of.
  Result<std::size_t> find(const Node& node) {
    DOVETAIL_TRY(const Node name, base::require(node, "a task of a plan", "task", "task: actor_generate"));
    std::vector<std::string_view> names;
    for (const workflow::Task& task : job_.workflow.tasks)
      if (task.kind != workflow::TaskKind::rule) names.push_back(task.name);
    if (!name.is_string()) return name.error(fmt::format("the task is {}; accepted: {}", name.describe(), fmt::join(names, ", ")));
    const auto task = workflow::find_task(job_.workflow, name.text());
    if (!task || std::find(names.begin(), names.end(), name.text()) == names.end())
      return name.error(fmt::format("there is no task {}{}; accepted: {}", quote(name.text()), base::did_you_mean(name.text(), names),
                                    fmt::join(names, ", ")));
    if (nodes_[task->index()]) return name.error(fmt::format("{} stands twice; accepted: each task once", quote(name.text())));
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
  const Node root = document.root();
  DOVETAIL_CHECK(base::check_keys(root, "a plan", {"format", "job", "placement", "tasks"}));
  DOVETAIL_TRY(const Node format, base::require(root, "a plan", "format", fmt::format("format: {}", plan_format)));
  if (!format.is_string() || format.text() != plan_format)
    return format.error(fmt::format("the format is {}; accepted: {}", format.describe(), plan_format));
  Plan plan;
  // Which job the plan was made for is for people: it may be held against others.
  DOVETAIL_CHECK(read_name(root, "job"));
  DOVETAIL_TRY(plan.placement, read_name(root, "placement"));
  if (plan.placement.empty()) plan.placement = "custom";
  DOVETAIL_TRY(const Node tasks, base::require(root, "a plan", "tasks", "tasks: [...]"));
  DOVETAIL_TRY(plan.tasks, TaskListReader(job, tasks).read());
  return plan;
}

}  // namespace dovetail::plan
