#include "plan/plan_file_task.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "base/descriptor_file.h"
#include "base/utf8.h"

namespace dovetail::plan {
namespace {

using base::json_string;
using base::JsonObject;
using base::Node;
using base::Result;
using base::Status;

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
    if (first && last && *first >= 0 && *last >= *first && *last < max_count)
      return cluster::Mesh{*first, *last - *first + 1};
  }
  return node.error(
      fmt::format("`devices` is {}; accepted: \"FIRST-LAST\", or the number of one device", node.describe()));
}

/// Whether a step has room for a token of each sequence, where both are given: find_fault asks it of whole engines.
Status check_limits(const Node& node, const base::Partial<Engine>& engine) {
  const Engine& limits = engine.or_defaults();
  if (!engine.has(&Engine::max_num_batched_tokens) || !engine.has(&Engine::max_num_seqs) || !limits.own_weights)
    return {};
  if (limits.max_num_batched_tokens >= limits.max_num_seqs) return {};
  return node.find("max_num_batched_tokens")
      ->error(fmt::format(
          "`max_num_batched_tokens` is {}; accepted: at least `max_num_seqs`, {} (a token of each in a step)",
          limits.max_num_batched_tokens, limits.max_num_seqs));
}

std::string devices_text(const cluster::Mesh& mesh) {
  const int last = mesh.first + mesh.count - 1;
  return json_string(mesh.count == 1 ? std::to_string(last) : fmt::format("{}-{}", mesh.first, last));
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
  if (const auto layout = node.find("layout")) {
    DOVETAIL_TRY(pin.layout, base::read_partial<llm::Layout>(*layout, "a layout"));
  }
  if (const auto engine = node.find("engine")) {
    DOVETAIL_TRY(pin.engine, base::read_partial<Engine>(*engine, "`engine`"));
    DOVETAIL_CHECK(check_limits(*engine, pin.engine));
  }
  if (const auto micro_batch = node.find("micro_batch")) {
    DOVETAIL_TRY(const base::Partial<MicroBatching> read,
                 base::read_partial<MicroBatching>(*micro_batch, "`micro_batch`"));
    pin.micro_batching = read.or_defaults();
  }
  if (const auto offload = node.find("offload")) {
    DOVETAIL_TRY(pin.offload, base::read_flags<Offload>(*offload, "offload"));
  }
  return pin;
}

JsonObject task_pin_object(const TaskPin& pin) {
  JsonObject text;
  if (pin.mesh) text.add("devices", devices_text(*pin.mesh));
  if (!pin.layout.empty()) text.add("layout", base::json_object(pin.layout).text());
  if (pin.micro_batching) text.add("micro_batch", base::json_object(base::unusual(*pin.micro_batching)).text());
  if (!pin.engine.empty()) text.add("engine", base::json_object(pin.engine).text());
  if (pin.offload) text.add("offload", base::json_flags(*pin.offload));
  return text;
}

}  // namespace dovetail::plan
