#include "plan/plan_members.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "base/descriptor_file.h"
#include "base/enum_names.h"
#include "base/fields.h"
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

/// Checks that a step can hold a token of each sequence, if both limits are given. find_fault checks this for complete
/// engines.
Status check_limits(const Node& node, const base::Partial<Engine>& engine) {
  const Engine& limits = engine.or_defaults();
  if (!engine.has(&Engine::max_num_batched_tokens) || !engine.has(&Engine::max_num_seqs) || !limits.own_weights)
    return {};
  if (limits.max_num_batched_tokens >= limits.max_num_seqs) return {};
  return node.find("max_num_batched_tokens")
      ->error(
          fmt::format("`max_num_batched_tokens` is {}; accepted: at least `max_num_seqs` ({}), because a decode step "
                      "processes one token per sequence",
                      limits.max_num_batched_tokens, limits.max_num_seqs));
}

std::string devices_text(const cluster::Mesh& mesh) {
  const int last = mesh.first + mesh.count - 1;
  return json_string(mesh.count == 1 ? std::to_string(last) : fmt::format("{}-{}", mesh.first, last));
}

Result<double> read_threshold(const Node& inter_stage) {
  DOVETAIL_CHECK(base::check_keys(inter_stage, "`inter_stage`", {"threshold"}));
  DOVETAIL_TRY(const Node value, base::require(inter_stage, "`inter_stage`", "threshold", "threshold: 0.2"));
  const Result<double> threshold = base::read_number(value, "`threshold`", 0, 1);
  if (!threshold.ok() || *threshold == 0 || *threshold == 1)
    return value.error(fmt::format("`threshold` is {}; accepted: a number above 0 and below 1", value.describe()));
  return threshold;
}

Result<std::size_t> read_train_task(const Node& node, const workflow::Workflow& workflow) {
  std::vector<std::string_view> names;
  for (const workflow::Task& task : workflow.tasks)
    if (task.kind == workflow::TaskKind::train) names.push_back(task.name);
  const auto task = node.is_string() ? workflow::find_task(workflow, node.text()) : std::nullopt;
  if (task && workflow.tasks[task->index()].kind == workflow::TaskKind::train) return task->index();
  if (names.empty()) return node.error(fmt::format("{} has no train task; accepted: no `intra_stage`", workflow.name));
  return node.error(fmt::format("a task of `intra_stage` is {}{}; accepted: {}", node.describe(),
                                node.is_string() ? base::did_you_mean(node.text(), names) : "",
                                fmt::join(names, ", ")));
}

Result<TrainPair> read_pair(const Node& node, const Job& job, const std::vector<TaskPlan>& tasks) {
  DOVETAIL_CHECK(base::check_keys(node, "`intra_stage`", {"tasks"}));
  DOVETAIL_TRY(const Node list, base::require(node, "`intra_stage`", "tasks", "tasks: [actor_train, critic_train]"));
  if (!list.is_list() || list.size() != 2)
    return list.error(fmt::format("`tasks` of `intra_stage` is {}; accepted: a list of two train tasks",
                                  list.is_list() ? fmt::format("a list of {}", list.size()) : list.describe()));
  TrainPair pair{};
  for (std::size_t item = 0; item < pair.size(); ++item) {
    DOVETAIL_TRY(pair[item], read_train_task(list.item(item), job.workflow));
  }
  if (const auto fault = find_training_fault(job, pair, tasks[pair[0]], tasks[pair[1]]))
    return list.error(fmt::format("{} and {} cannot be fused: {}", job.workflow.tasks[pair[0]].name,
                                  job.workflow.tasks[pair[1]].name, *fault));
  return pair;
}

Result<bool> read_flag(const Node& node, std::string_view what, std::string_view accepted) {
  if (!node.is_boolean()) return node.error(fmt::format("{} is {}; accepted: {}", what, node.describe(), accepted));
  return node.text() == "true";
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
  if (pin.micro_batching) text.add("micro_batch", base::json_object(base::non_default(*pin.micro_batching)).text());
  if (!pin.engine.empty()) text.add("engine", base::json_object(pin.engine).text());
  if (pin.offload) text.add("offload", base::json_flags(*pin.offload));
  return text;
}

Result<Fusion> read_fusion(const Node& node, const Job& job, const std::vector<TaskPlan>& tasks) {
  DOVETAIL_CHECK(base::check_keys(node, "`fusion`", {"inter_stage", "intra_stage"}));
  if (node.size() == 0) return node.error("`fusion` is empty; accepted: inter_stage, intra_stage, or no `fusion`");
  Fusion fusion;
  if (const auto inter = node.find("inter_stage")) {
    DOVETAIL_TRY(fusion.threshold, read_threshold(*inter));
    if (const auto fault = find_threshold_fault(*fusion.threshold, job, tasks))
      return inter->find("threshold")->error(fmt::format("`inter_stage`: {}", *fault));
  }
  if (const auto intra = node.find("intra_stage")) {
    DOVETAIL_TRY(fusion.training, read_pair(*intra, job, tasks));
  }
  return fusion;
}

Result<FusionPin> read_fusion_pin(const Node& node, const Job& job) {
  DOVETAIL_CHECK(base::check_keys(node, "`fusion`", {"inter_stage", "intra_stage"}));
  FusionPin pin;
  if (const auto inter = node.find("inter_stage"); inter && inter->is_map()) {
    DOVETAIL_TRY(pin.threshold, read_threshold(*inter));
    pin.inter_stage = true;
  } else if (inter) {
    DOVETAIL_TRY(pin.inter_stage, read_flag(*inter, "`inter_stage`", "true, false, {threshold: FRACTION}"));
  }
  if (const auto intra = node.find("intra_stage")) {
    DOVETAIL_TRY(pin.intra_stage, read_flag(*intra, "`intra_stage`", "true, false"));
  }
  if (const auto fault = find_fault(pin, job)) return node.error(fmt::format("`fusion`: {}", *fault));
  return pin;
}

base::JsonObject fusion_pin_object(const FusionPin& pin) {
  base::JsonObject text;
  const auto flag = [](bool value) { return value ? "true" : "false"; };
  if (pin.threshold)
    text.add("inter_stage", fmt::format("{{\"threshold\": {}}}", *pin.threshold));
  else if (pin.inter_stage)
    text.add("inter_stage", flag(*pin.inter_stage));
  if (pin.intra_stage) text.add("intra_stage", flag(*pin.intra_stage));
  return text;
}

base::JsonObject fusion_object(const Fusion& fusion, const Job& job) {
  base::JsonObject text;
  if (fusion.threshold) text.add("inter_stage", fmt::format("{{\"threshold\": {}}}", *fusion.threshold));
  if (const auto& pair = fusion.training)
    text.add("intra_stage",
             fmt::format("{{\"tasks\": [{}, {}]}}", base::json_string(job.workflow.tasks[(*pair)[0]].name),
                         base::json_string(job.workflow.tasks[(*pair)[1]].name)));
  return text;
}

}  // namespace dovetail::plan
