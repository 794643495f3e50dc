#include "plan/plan_file_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/fields.h"
#include "base/utf8.h"
#include "plan/plan_file_words.h"

namespace dovetail::plan {
namespace {

using base::json_string;
using base::JsonObject;
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
Status read_optional(const Node& map, std::string_view key, std::int64_t least, std::optional<std::int64_t>& value,
                     std::int64_t limit = most) {
  if (const auto node = map.find(key)) {
    DOVETAIL_TRY(value, base::read_whole(*node, quote(key), least, limit));
  }
  return {};
}

Status read_optional(const Node& map, std::string_view key, std::int64_t least, std::optional<int>& value, std::int64_t limit = most) {
  std::optional<std::int64_t> whole;
  DOVETAIL_CHECK(read_optional(map, key, least, whole, limit));
  if (whole) value = static_cast<int>(*whole);
  return {};
}

Status read_optional(const Node& map, std::string_view key, std::optional<bool>& value) {
  const auto node = map.find(key);
  if (!node) return {};
  DOVETAIL_TRY(value, base::read_flag(*node, key));
  return {};
}

Status read_recomputation(const Node& map, std::optional<llm::Recomputation>& value) {
  const auto node = map.find("recompute");
  if (!node) return {};
  for (const auto& [name, recomputation] : recomputation_words) {
    if (!node->is_string() || node->text() != name) continue;
    value = recomputation;
    return {};
  }
  return node->error(fmt::format("`recompute` is {}; accepted: none, selective, full", node->describe()));
}

Status read_stage_layers(const Node& map, std::optional<std::vector<int>>& value) {
  const auto layers = map.find("stage_layers");
  if (!layers) return {};
  if (!layers->is_list()) return layers->error(fmt::format("`stage_layers` is {}; accepted: a list of numbers", layers->describe()));
  value.emplace();
  for (std::size_t stage = 0; stage < layers->size(); ++stage) {
    DOVETAIL_TRY(const std::int64_t count, base::read_whole(layers->item(stage), "the number of layers of a stage", 0, most_layers));
    value->push_back(static_cast<int>(count));
  }
  return {};
}

Status read_layout(const Node& node, TaskPin& pin) {
  DOVETAIL_CHECK(base::check_keys(node, "a layout",
                                  {"dp", "tp", "pp", "cp", "ep", "etp", "vpp", "zero", "sequence_parallel", "recompute", "stage_layers"}));
  for (const DegreeWord& word : degree_words) DOVETAIL_CHECK(read_optional(node, word.name, 1, pin.*word.fixed, largest_degree));
  DOVETAIL_CHECK(read_optional(node, "zero", 0, pin.zero, largest_zero));
  DOVETAIL_CHECK(read_optional(node, "sequence_parallel", pin.sequence_parallel));
  DOVETAIL_CHECK(read_recomputation(node, pin.recomputation));
  return read_stage_layers(node, pin.stage_layers);
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
  std::optional<std::int64_t> sequences;
  std::optional<std::int64_t> tokens;
  std::optional<int> count;
  DOVETAIL_CHECK(read_optional(node, "sequences", 1, sequences));
  DOVETAIL_CHECK(read_optional(node, "tokens", 1, tokens));
  DOVETAIL_CHECK(read_optional(node, "count", 1, count));
  return MicroBatching{static_cast<double>(sequences.value_or(0)), static_cast<double>(tokens.value_or(0)), count.value_or(0)};
}

/// Whether a step has room for a token of each sequence, where both are given: find_fault asks it of whole engines.
Status check_limits(const Node& node, const EnginePin& engine) {
  if (!engine.max_num_batched_tokens || !engine.max_num_seqs || !engine.own_weights.value_or(true)) return {};
  if (*engine.max_num_batched_tokens >= *engine.max_num_seqs) return {};
  return node.find("max_num_batched_tokens")
      ->error(fmt::format("`max_num_batched_tokens` is {}; accepted: at least `max_num_seqs`, {} (a token of each in a step)",
                          *engine.max_num_batched_tokens, *engine.max_num_seqs));
}

Result<EnginePin> read_engine(const Node& node) {
  DOVETAIL_CHECK(base::check_keys(
      node, "`engine`",
      {"memory_utilization", "max_num_seqs", "max_num_batched_tokens", "chunked_prefill", "longest_first", "cuda_graphs", "own_weights"}));
  EnginePin engine;
  if (const auto share = node.find("memory_utilization")) {
    DOVETAIL_TRY(engine.memory_utilization, base::read_number(*share, "`memory_utilization`", least_memory_utilization, 1));
  }
  DOVETAIL_CHECK(read_optional(node, "max_num_seqs", 1, engine.max_num_seqs));
  DOVETAIL_CHECK(read_optional(node, "max_num_batched_tokens", 1, engine.max_num_batched_tokens));
  DOVETAIL_CHECK(read_optional(node, "chunked_prefill", engine.chunked_prefill));
  DOVETAIL_CHECK(read_optional(node, "longest_first", engine.longest_first));
  DOVETAIL_CHECK(read_optional(node, "cuda_graphs", engine.cuda_graphs));
  DOVETAIL_CHECK(read_optional(node, "own_weights", engine.own_weights));
  DOVETAIL_CHECK(check_limits(node, engine));
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

std::string_view text_of(bool value) { return value ? "true" : "false"; }

std::string_view name_of(llm::Recomputation recomputation) {
  return std::find_if(recomputation_words.begin(), recomputation_words.end(),
                      [recomputation](const auto& word) { return word.second == recomputation; })
      ->first;
}

std::string devices_text(const cluster::Mesh& mesh) {
  const int last = mesh.first + mesh.count - 1;
  return json_string(mesh.count == 1 ? std::to_string(last) : fmt::format("{}-{}", mesh.first, last));
}

JsonObject layout_object(const TaskPin& pin) {
  JsonObject text;
  for (const DegreeWord& word : degree_words)
    if (const auto& degree = pin.*word.fixed) text.add(word.name, std::to_string(*degree));
  if (pin.zero) text.add("zero", std::to_string(*pin.zero));
  if (pin.sequence_parallel) text.add("sequence_parallel", text_of(*pin.sequence_parallel));
  if (pin.recomputation) text.add("recompute", json_string(name_of(*pin.recomputation)));
  if (pin.stage_layers) text.add("stage_layers", fmt::format("[{}]", fmt::join(*pin.stage_layers, ", ")));
  return text;
}

JsonObject micro_batching_object(const MicroBatching& micro_batching) {
  JsonObject text;
  if (micro_batching.sequences > 0) text.add("sequences", fmt::format("{}", micro_batching.sequences));
  if (micro_batching.tokens > 0) text.add("tokens", fmt::format("{}", micro_batching.tokens));
  if (micro_batching.count > 0) text.add("count", std::to_string(micro_batching.count));
  return text;
}

JsonObject engine_object(const EnginePin& engine) {
  JsonObject text;
  if (engine.memory_utilization) text.add("memory_utilization", fmt::format("{}", *engine.memory_utilization));
  if (engine.max_num_seqs) text.add("max_num_seqs", std::to_string(*engine.max_num_seqs));
  if (engine.max_num_batched_tokens) text.add("max_num_batched_tokens", std::to_string(*engine.max_num_batched_tokens));
  if (engine.chunked_prefill) text.add("chunked_prefill", text_of(*engine.chunked_prefill));
  if (engine.longest_first) text.add("longest_first", text_of(*engine.longest_first));
  if (engine.cuda_graphs) text.add("cuda_graphs", text_of(*engine.cuda_graphs));
  if (engine.own_weights) text.add("own_weights", text_of(*engine.own_weights));
  return text;
}

std::string offload_text(const Offload& offload) {
  std::vector<std::string> words;
  for (const auto& [name, member] : offload_words)
    if (offload.*member) words.push_back(json_string(name));
  return fmt::format("[{}]", fmt::join(words, ", "));
}

}  // namespace

std::vector<std::string_view> task_keys(workflow::TaskKind kind) {
  return {"devices", "layout", kind == workflow::TaskKind::generate ? "engine" : "micro_batch", "offload"};
}

Result<TaskPin> read_task_pin(const Node& node) {
  TaskPin pin;
  if (const auto devices = node.find("devices")) {
    DOVETAIL_TRY(pin.mesh, read_devices(*devices));
  }
  if (const auto layout = node.find("layout")) DOVETAIL_CHECK(read_layout(*layout, pin));
  if (const auto engine = node.find("engine")) {
    DOVETAIL_TRY(pin.engine, read_engine(*engine));
  }
  if (const auto micro_batch = node.find("micro_batch")) {
    DOVETAIL_TRY(pin.micro_batching, read_micro_batching(*micro_batch));
  }
  if (const auto offload = node.find("offload")) {
    DOVETAIL_TRY(pin.offload, read_offload(*offload));
  }
  return pin;
}

JsonObject task_pin_object(const TaskPin& pin) {
  JsonObject text;
  if (pin.mesh) text.add("devices", devices_text(*pin.mesh));
  if (const JsonObject layout = layout_object(pin); !layout.empty()) text.add("layout", layout.text());
  if (pin.micro_batching) text.add("micro_batch", micro_batching_object(*pin.micro_batching).text());
  if (const JsonObject engine = engine_object(pin.engine); !engine.empty()) text.add("engine", engine.text());
  if (pin.offload) text.add("offload", offload_text(*pin.offload));
  return text;
}

}  // namespace dovetail::plan
