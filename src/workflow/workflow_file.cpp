#include "workflow/workflow_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/fields.h"
#include "base/nearest.h"
#include "workflow/algorithms.h"

namespace dovetail::workflow {
namespace {

using base::Node;
using base::quote;
using base::Result;
using base::Status;

constexpr std::int64_t largest_sequence_count = 1024;
constexpr double largest_decay = 1.0 - 1e-9;

template <class Value>
using Choice = std::pair<std::string_view, Value>;

/// One of a few words.
template <class Value, std::size_t count>
Result<Value> read_choice(const Node& node, std::string_view what, const std::array<Choice<Value>, count>& choices) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : choices) {
    if (node.is_string() && node.text() == name) return value;
    names.push_back(name);
  }
  return node.error(fmt::format("{} is {}; accepted: {}", what, node.describe(), fmt::join(names, ", ")));
}

constexpr std::array<Choice<ReferenceUse>, 3> reference_uses{
    {{"skip", ReferenceUse::skip}, {"pass", ReferenceUse::pass}, {"averaged", ReferenceUse::averaged}}};
constexpr std::array<Choice<RewardUse>, 2> reward_uses{{{"model", RewardUse::model}, {"rule", RewardUse::rule}}};
constexpr std::array<Choice<LogProbabilities>, 2> log_probabilities{
    {{"trainer", LogProbabilities::trainer}, {"engine", LogProbabilities::engine}}};
constexpr std::array<Choice<Head>, 2> heads{{{"language_model", Head::language_model}, {"scalar", Head::scalar}}};
constexpr std::array<Choice<TaskKind>, 4> kinds{
    {{"generate", TaskKind::generate}, {"infer", TaskKind::infer}, {"train", TaskKind::train}, {"rule", TaskKind::rule}}};
constexpr std::array<Choice<SequenceCount::Per>, 2> pers{{{"sample", SequenceCount::Per::sample}, {"prompt", SequenceCount::Per::prompt}}};

Result<std::string> read_word(const Node& node, std::string_view what) {
  if (!node.is_string() || node.text().empty()) return node.error(fmt::format("{} is {}; accepted: a word", what, node.describe()));
  return std::string(node.text());
}

Result<base::Ticks> read_seconds(const Node& node, std::string_view what) {
  if (!node.is_number()) return node.error(fmt::format("{} is {}; accepted: a number of seconds", what, node.describe()));
  const Result<base::Ticks> time = base::parse_time(node.text(), base::TimeUnit::s, base::FineDigits::round_half_up);
  if (!time.ok()) return node.error(fmt::format("{}: {} {}", what, node.describe(), time.error().message));
  return *time;
}

Result<const Algorithm*> read_algorithm_name(const Node& node) {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms()) names.push_back(algorithm.name);
  if (!node.is_string()) return node.error(fmt::format("the algorithm is {}; accepted: {}", node.describe(), fmt::join(names, ", ")));
  if (const Algorithm* found = find_algorithm(node.text())) return found;
  return node.error(fmt::format("the algorithm {} is not known{}; accepted: {}, or a map with roles and tasks", quote(node.text()),
                                base::did_you_mean(node.text(), names), fmt::join(names, ", ")));
}

/// An option that says something only beside another.
Status check_companion(const Node& map, std::string_view key, bool applies, std::string_view accepted) {
  const std::optional<Node> value = map.find(key);
  if (!value || applies) return {};
  return value->error(fmt::format("{} has no meaning here; accepted: only with {}", quote(key), accepted));
}

Status read_options(const Node& map, const Algorithm& algorithm, AlgorithmOptions& options) {
  const auto find = [&](std::string_view key) { return map.find(key); };
  if (const auto node = find("reference")) {
    DOVETAIL_TRY(options.reference, read_choice(*node, "`reference`", reference_uses));
    if (options.reference == ReferenceUse::skip && !algorithm.may_skip_reference)
      return node->error(fmt::format("{} needs its reference; accepted: pass, averaged", algorithm.name));
  }
  DOVETAIL_CHECK(check_companion(map, "reference_decay", options.reference == ReferenceUse::averaged, "`reference: averaged`"));
  if (const auto node = find("reference_decay")) {
    DOVETAIL_TRY(options.reference_decay, base::read_number(*node, "`reference_decay`", 0.0, largest_decay));
  }
  if (const auto node = find("reward")) {
    DOVETAIL_TRY(options.reward, read_choice(*node, "`reward`", reward_uses));
  }
  DOVETAIL_CHECK(check_companion(map, "reward_seconds", options.reward == RewardUse::rule, "`reward: rule`"));
  if (const auto node = find("reward_seconds")) {
    DOVETAIL_TRY(options.reward_time, read_seconds(*node, "`reward_seconds`"));
  }
  if (const auto node = find("policy_log_probabilities")) {
    DOVETAIL_TRY(options.policy_log_probabilities, read_choice(*node, "`policy_log_probabilities`", log_probabilities));
  }
  if (const auto node = find("ptx_tokens")) {
    DOVETAIL_TRY(options.ptx_tokens, base::read_whole(*node, "`ptx_tokens`", 0, largest_token_count));
  }
  return {};
}

Result<Role> read_role(const Node& node) {
  DOVETAIL_CHECK(base::check_keys(node, "a role", {"name", "head", "initialised_from", "averaged_from", "decay"}));
  Role role;
  DOVETAIL_TRY(const Node name, base::require(node, "a role", "name"));
  DOVETAIL_TRY(role.name, read_word(name, "`name` of a role"));
  const std::string what = "role " + quote(role.name);
  if (const auto head = node.find("head")) {
    DOVETAIL_TRY(role.head, read_choice(*head, "`head` of " + what, heads));
  }
  if (const auto start = node.find("initialised_from")) {
    DOVETAIL_TRY(role.initialised_from, read_word(*start, "`initialised_from` of " + what));
  }
  const auto average = node.find("averaged_from");
  DOVETAIL_CHECK(check_companion(node, "decay", average.has_value(), "`averaged_from`"));
  if (!average) return role;
  DOVETAIL_TRY(role.averaged_from, read_word(*average, "`averaged_from` of " + what));
  DOVETAIL_TRY(const Node decay, base::require(node, what, "decay", "`decay: 0.99`"));
  DOVETAIL_TRY(role.decay, base::read_number(decay, "`decay` of " + what, 0.0, largest_decay));
  return role;
}

Result<std::vector<std::string>> read_keys(const Node& task, std::string_view member, const std::string& what) {
  std::vector<std::string> keys;
  const std::optional<Node> list = task.find(member);
  if (!list) return keys;
  if (!list->is_list()) return list->error(fmt::format("{} of {} is {}; accepted: a list of keys", quote(member), what, list->describe()));
  for (std::size_t i = 0; i < list->size(); ++i) {
    DOVETAIL_TRY(std::string key, read_word(list->item(i), fmt::format("a key of {} of {}", quote(member), what)));
    keys.push_back(std::move(key));
  }
  return keys;
}

Result<Task> read_task(const Node& node) {
  DOVETAIL_CHECK(
      base::check_keys(node, "a task", {"name", "kind", "role", "inputs", "outputs", "sequences", "per", "extra_tokens", "seconds"}));
  Task task;
  DOVETAIL_TRY(const Node name, base::require(node, "a task", "name"));
  DOVETAIL_TRY(task.name, read_word(name, "`name` of a task"));
  const std::string what = "task " + quote(task.name);
  DOVETAIL_TRY(const Node kind, base::require(node, what, "kind", "generate, infer, train, rule"));
  DOVETAIL_TRY(task.kind, read_choice(kind, "`kind` of " + what, kinds));
  if (const auto role = node.find("role")) {
    DOVETAIL_TRY(task.role, read_word(*role, "`role` of " + what));
  }
  DOVETAIL_TRY(task.inputs, read_keys(node, "inputs", what));
  DOVETAIL_TRY(task.outputs, read_keys(node, "outputs", what));
  if (const auto sequences = node.find("sequences")) {
    DOVETAIL_TRY(task.sequences.count, base::read_whole(*sequences, "`sequences` of " + what, 1, largest_sequence_count));
  }
  if (const auto per = node.find("per")) {
    DOVETAIL_TRY(task.sequences.per, read_choice(*per, "`per` of " + what, pers));
  }
  DOVETAIL_CHECK(check_companion(node, "extra_tokens", task.kind == TaskKind::train, "`kind: train`"));
  if (const auto tokens = node.find("extra_tokens")) {
    DOVETAIL_TRY(task.extra_tokens, base::read_whole(*tokens, "`extra_tokens` of " + what, 0, largest_token_count));
  }
  DOVETAIL_CHECK(check_companion(node, "seconds", task.kind == TaskKind::rule, "`kind: rule`"));
  if (const auto seconds = node.find("seconds")) {
    DOVETAIL_TRY(task.time_per_sequence, read_seconds(*seconds, "`seconds` of " + what));
  }
  return task;
}

/// The most roles, and the most tasks, of a graph.
constexpr std::size_t largest_graph = 256;

template <class Value>
Result<std::vector<Value>> read_list(const Node& graph, std::string_view key, Result<Value> (*read)(const Node&)) {
  DOVETAIL_TRY(const Node list, base::require(graph, "the algorithm", key));
  if (!list.is_list() || list.size() == 0 || list.size() > largest_graph)
    return list.error(fmt::format("{} is {}; accepted: a list of 1 to {}", quote(key),
                                  list.is_list() ? fmt::format("a list of {}", list.size()) : list.describe(), largest_graph));
  std::vector<Value> values;
  for (std::size_t i = 0; i < list.size(); ++i) {
    DOVETAIL_TRY(Value value, read(list.item(i)));
    values.push_back(std::move(value));
  }
  return values;
}

Result<Workflow> read_graph(const Node& node) {
  DOVETAIL_CHECK(base::check_keys(node, "the algorithm", {"roles", "tasks"}));
  DOVETAIL_TRY(std::vector<Role> roles, read_list(node, "roles", read_role));
  DOVETAIL_TRY(std::vector<Task> tasks, read_list(node, "tasks", read_task));
  const std::optional<WorkflowFault> fault = find_fault(roles, tasks);
  if (!fault) return make_workflow("custom", std::move(roles), std::move(tasks));
  const Node thing = node.find(fault->in_roles ? "roles" : "tasks")->item(fault->index);
  const std::optional<Node> member = thing.find(fault->key);
  if (!member) return thing.error(fault->message);
  return (member->is_list() && fault->item < member->size() ? member->item(fault->item) : *member).error(fault->message);
}

}  // namespace

Result<Workflow> read_algorithm(const Node& node) {
  if (!node.is_map()) {
    DOVETAIL_TRY(const Algorithm* const algorithm, read_algorithm_name(node));
    return algorithm->make(algorithm->defaults);
  }
  if (node.find("roles") || node.find("tasks")) return read_graph(node);
  DOVETAIL_TRY(const Node name, base::require(node, "the algorithm", "name", "`name: ppo`, or `roles` and `tasks`"));
  DOVETAIL_TRY(const Algorithm* const algorithm, read_algorithm_name(name));
  std::vector<std::string_view> keys{"name"};
  keys.insert(keys.end(), algorithm->options.begin(), algorithm->options.end());
  DOVETAIL_CHECK(base::check_keys(node, fmt::format("the algorithm {}", algorithm->name), keys));
  AlgorithmOptions options = algorithm->defaults;
  DOVETAIL_CHECK(read_options(node, *algorithm, options));
  return algorithm->make(options);
}

}  // namespace dovetail::workflow
