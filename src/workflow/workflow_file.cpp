#include "workflow/workflow_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/descriptor_file.h"
#include "base/enum_names.h"
#include "base/fields.h"
#include "workflow/algorithms.h"
#include "workflow/lengths_file.h"

namespace dovetail::workflow {
namespace {

using base::Node;
using base::quote;
using base::Result;
using base::Status;

constexpr std::int64_t max_sequence_count = 1024;

Result<std::string> read_word(const Node& node, std::string_view what) {
  if (!node.is_string() || node.text().empty())
    return node.error(fmt::format("{} is {}; accepted: a non-empty string", what, node.describe()));
  return std::string(node.text());
}

/// Reads the name of an algorithm. `others` names what is accepted besides names.
Result<const Algorithm*> read_algorithm_name(const Node& node, std::string_view others) {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms()) names.push_back(algorithm.name);
  if (!node.is_string())
    return node.error(
        fmt::format("the algorithm is {}; accepted: {}{}", node.describe(), fmt::join(names, ", "), others));
  if (const Algorithm* found = find_algorithm(node.text())) return found;
  return node.error(fmt::format("unknown algorithm {}{}; accepted: {}{}", quote(node.text()),
                                base::did_you_mean(node.text(), names), fmt::join(names, ", "), others));
}

/// Checks a key that is only allowed with another.
Status check_companion(const Node& map, std::string_view key, bool applies, std::string_view only_with) {
  const std::optional<Node> value = map.find(key);
  if (!value || applies) return {};
  return base::without_companion(*value, key, only_with);
}

Result<AlgorithmOptions> read_options(const Node& map, const Algorithm& algorithm) {
  const auto reference = map.find(base::key_of(&AlgorithmOptions::reference));
  const bool skips = reference && reference->is_string() && reference->text() == base::enum_name(ReferenceUse::skip);
  if (skips && !algorithm.may_skip_reference)
    return reference->error(
        fmt::format("`reference` is skip, but {} needs a reference; accepted: pass, averaged", algorithm.name));
  AlgorithmOptions options = algorithm.defaults;
  DOVETAIL_CHECK(base::read_fields(map, options));
  return options;
}

Result<Role> read_role(const Node& node) {
  DOVETAIL_CHECK(base::check_keys(node, "a role", {"name", "head", "initialised_from", "averaged_from", "decay"}));
  Role role;
  DOVETAIL_TRY(const Node name, base::require(node, "a role", "name"));
  DOVETAIL_TRY(role.name, read_word(name, "`name` of a role"));
  const std::string what = "role " + quote(role.name);
  if (const auto head = node.find("head")) {
    DOVETAIL_TRY(role.head, base::read_enum<Head>(*head, "`head` of " + what));
  }
  if (const auto start = node.find("initialised_from")) {
    DOVETAIL_TRY(role.initialised_from, read_word(*start, "`initialised_from` of " + what));
  }
  const auto average = node.find("averaged_from");
  DOVETAIL_CHECK(check_companion(node, "decay", average.has_value(), "`averaged_from`"));
  if (!average) return role;
  DOVETAIL_TRY(role.averaged_from, read_word(*average, "`averaged_from` of " + what));
  DOVETAIL_TRY(const Node decay, base::require(node, what, "decay", "`decay: 0.99`"));
  DOVETAIL_TRY(role.decay, base::read_number(decay, "`decay` of " + what, 0.0, max_decay));
  return role;
}

Result<std::vector<std::string>> read_keys(const Node& task, std::string_view member, const std::string& what) {
  std::vector<std::string> keys;
  const std::optional<Node> list = task.find(member);
  if (!list) return keys;
  if (!list->is_list())
    return list->error(fmt::format("{} of {} is {}; accepted: a list of keys", quote(member), what, list->describe()));
  for (std::size_t i = 0; i < list->size(); ++i) {
    DOVETAIL_TRY(std::string key, read_word(list->item(i), fmt::format("a key of {} of {}", quote(member), what)));
    keys.push_back(std::move(key));
  }
  return keys;
}

Result<Task> read_task(const Node& node) {
  DOVETAIL_CHECK(base::check_keys(
      node, "a task", {"name", "kind", "role", "inputs", "outputs", "sequences", "per", "extra_tokens", "seconds"}));
  Task task;
  DOVETAIL_TRY(const Node name, base::require(node, "a task", "name"));
  DOVETAIL_TRY(task.name, read_word(name, "`name` of a task"));
  const std::string what = "task " + quote(task.name);
  DOVETAIL_TRY(const Node kind, base::require(node, what, "kind", "generate, infer, train, rule"));
  DOVETAIL_TRY(task.kind, base::read_enum<TaskKind>(kind, "`kind` of " + what));
  if (const auto role = node.find("role")) {
    DOVETAIL_TRY(task.role, read_word(*role, "`role` of " + what));
  }
  DOVETAIL_TRY(task.inputs, read_keys(node, "inputs", what));
  DOVETAIL_TRY(task.outputs, read_keys(node, "outputs", what));
  if (const auto sequences = node.find("sequences")) {
    DOVETAIL_TRY(task.sequences.count, base::read_integer(*sequences, "`sequences` of " + what, 1, max_sequence_count));
  }
  if (const auto per = node.find("per")) {
    DOVETAIL_TRY(task.sequences.per, base::read_enum<SequenceCount::Per>(*per, "`per` of " + what));
  }
  DOVETAIL_CHECK(check_companion(node, "extra_tokens", task.kind == TaskKind::train, "`kind: train`"));
  if (const auto tokens = node.find("extra_tokens")) {
    DOVETAIL_TRY(task.extra_tokens, base::read_integer(*tokens, "`extra_tokens` of " + what, 0, max_token_count));
  }
  DOVETAIL_CHECK(check_companion(node, "seconds", task.kind == TaskKind::rule, "`kind: rule`"));
  if (const auto seconds = node.find("seconds")) {
    DOVETAIL_TRY(task.time_per_sequence, base::read_seconds(*seconds, "`seconds` of " + what));
  }
  return task;
}

/// Maximum number of roles, and of tasks, in a workflow.
constexpr std::size_t max_graph = 256;

template <class Value>
Result<std::vector<Value>> read_list(const Node& graph, std::string_view key, Result<Value> (*read)(const Node&)) {
  DOVETAIL_TRY(const Node list, base::require(graph, "the algorithm", key));
  if (!list.is_list() || list.size() == 0 || list.size() > max_graph)
    return list.error(fmt::format("{} is {}; accepted: a list of 1 to {} items", quote(key),
                                  list.is_list() ? fmt::format("a list of {}", list.size()) : list.describe(),
                                  max_graph));
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
  const Node entry = node.find(fault->in_roles ? "roles" : "tasks")->item(fault->index);
  const std::optional<Node> member = entry.find(fault->key);
  if (!member) return entry.error(fault->message);
  return (member->is_list() && fault->item < member->size() ? member->item(fault->item) : *member)
      .error(fault->message);
}

/// Reads the integer at an optional key.
template <class Integer>
Status read_optional(const Node& map, std::string_view key, std::int64_t least, std::int64_t most, Integer& value) {
  const std::optional<Node> node = map.find(key);
  if (!node) return {};
  DOVETAIL_TRY(const std::int64_t integer, base::read_integer(*node, quote(key), least, most));
  value = static_cast<Integer>(integer);
  return {};
}

/// Reads `mini_batches` or `mini_batch` for this many samples.
Status read_mini_batches(const Node& map, std::int64_t of_samples, std::int64_t& mini_batches) {
  DOVETAIL_CHECK(read_optional(map, "mini_batches", 1, of_samples, mini_batches));
  const std::optional<Node> size = map.find("mini_batch");
  if (!size) return {};
  if (map.find("mini_batches"))
    return size->error("`mini_batch` and `mini_batches` cannot be combined; accepted: one of the two");
  DOVETAIL_TRY(const std::int64_t samples, base::read_integer(*size, "`mini_batch`", 1, of_samples));
  if (of_samples % samples != 0)
    return size->error(fmt::format("`mini_batch` is {}; accepted: a divisor of {} (the samples of an iteration)",
                                   samples, of_samples));
  mini_batches = of_samples / samples;
  return {};
}

/// Reads the critic's training settings, which default to those of the other roles.
Status read_critic(const Node& node, Workload& workload) {
  DOVETAIL_CHECK(base::check_keys(node, "`critic`", {"mini_batches", "mini_batch", "epochs"}));
  OwnTraining own{workload.mini_batches, workload.epochs};
  DOVETAIL_CHECK(read_mini_batches(node, workload.samples(), own.mini_batches));
  DOVETAIL_CHECK(read_optional(node, "epochs", 1, max_epoch_count, own.epochs));
  if (own != OwnTraining{workload.mini_batches, workload.epochs}) workload.critic = own;
  return {};
}

/// Reads the cap of prompt and response together, and cuts responses at it.
Status read_sequence_cap(const Node& node, Workload& workload) {
  const std::int64_t prompt = workload.prompt_length.longest();
  DOVETAIL_TRY(workload.sequence_cap, base::read_integer(node, "`sequence_cap`", 2, max_length));
  if (workload.sequence_cap <= prompt) {
    const std::string caps = prompt < max_length ? fmt::format(", or a cap from {} to {}", prompt + 1, max_length) : "";
    return node.error(fmt::format("`sequence_cap` is {}, and prompts have up to {} tokens; accepted: shorter prompts{}",
                                  workload.sequence_cap, prompt, caps));
  }
  set_responses(workload, workload.response_length);
  return {};
}

/// Checks the number of tokens in an iteration. Padded sequences are as long as the longest.
Status check_tokens(const Node& prompts, const Workload& workload) {
  const LengthDistribution& prompt = workload.prompt_length;
  const LengthDistribution& response = workload.response_length;
  const double each = workload.packing ? prompt.mean() + response.mean() : static_cast<double>(workload.max_sequence());
  const int epochs = std::max(workload.epochs, workload.critic ? workload.critic->epochs : 1);
  const double tokens = each * static_cast<double>(workload.samples()) * epochs;
  if (tokens <= static_cast<double>(max_token_count)) return {};
  return prompts.error(fmt::format(
      "an iteration processes {:.0f} tokens (samples: {}, tokens of each: {:.0f}, epochs: {}); accepted: at most {}",
      tokens, workload.samples(), each, epochs, max_token_count));
}

}  // namespace

Result<Workflow> read_algorithm(const Node& node) {
  if (!node.is_map()) {
    DOVETAIL_TRY(const Algorithm* const algorithm,
                 read_algorithm_name(node, ", or a map with `name`, or with `roles` and `tasks`"));
    return algorithm->make(algorithm->defaults);
  }
  if (node.find("roles") || node.find("tasks")) return read_graph(node);
  DOVETAIL_TRY(const Node name, base::require(node, "the algorithm", "name", "`name: ppo`, or `roles` and `tasks`"));
  DOVETAIL_TRY(const Algorithm* const algorithm, read_algorithm_name(name, ""));
  std::vector<std::string_view> keys{"name"};
  keys.insert(keys.end(), algorithm->options.begin(), algorithm->options.end());
  DOVETAIL_CHECK(base::check_keys(node, fmt::format("the algorithm {}", algorithm->name), keys));
  DOVETAIL_TRY(const AlgorithmOptions options, read_options(node, *algorithm));
  return algorithm->make(options);
}

Result<Workload> read_workload(const Node& node, const std::string& directory) {
  const std::string_view what = "the workload";
  DOVETAIL_CHECK(
      base::check_keys(node, what,
                       {"prompts", "samples_per_prompt", "mini_batches", "mini_batch", "epochs", "prompt_length",
                        "response_length", "steps_off_policy", "packing", "critic", "sequence_cap"}));
  DOVETAIL_TRY(const Node prompts, base::require(node, what, "prompts"));
  DOVETAIL_TRY(const Node prompt_length,
               base::require(node, what, "prompt_length", "a number of tokens, or statistics of the lengths"));
  DOVETAIL_TRY(const Node response_length,
               base::require(node, what, "response_length", "a number of tokens, or statistics of the lengths"));
  DOVETAIL_TRY(LengthDistribution prompt_lengths, read_lengths(prompt_length, "`prompt_length`", directory));
  DOVETAIL_TRY(LengthDistribution response_lengths, read_lengths(response_length, "`response_length`", directory));
  Workload workload{.prompt_length = std::move(prompt_lengths), .response_length = std::move(response_lengths)};
  if (const auto cap = node.find("sequence_cap")) DOVETAIL_CHECK(read_sequence_cap(*cap, workload));
  if (workload.max_sequence() > max_length)
    return response_length.error(
        fmt::format("a prompt has up to {} tokens and its response up to {}; accepted: at most {} together",
                    workload.prompt_length.longest(), workload.response_length.longest(), max_length));
  DOVETAIL_TRY(workload.prompts, base::read_integer(prompts, "`prompts`", 1, max_sample_count));
  DOVETAIL_CHECK(
      read_optional(node, "samples_per_prompt", 1, max_sample_count / workload.prompts, workload.samples_per_prompt));
  DOVETAIL_CHECK(read_mini_batches(node, workload.samples(), workload.mini_batches));
  DOVETAIL_CHECK(read_optional(node, "epochs", 1, max_epoch_count, workload.epochs));
  DOVETAIL_CHECK(read_optional(node, "steps_off_policy", 0, max_steps_off_policy, workload.steps_off_policy));
  if (const auto packing = node.find("packing")) {
    DOVETAIL_TRY(workload.packing, base::read_flag(*packing, "packing"));
  }
  if (const auto critic = node.find("critic")) DOVETAIL_CHECK(read_critic(*critic, workload));
  DOVETAIL_CHECK(check_tokens(prompts, workload));
  return workload;
}

}  // namespace dovetail::workflow
