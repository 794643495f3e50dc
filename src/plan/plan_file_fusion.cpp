#include "plan/plan_file_fusion.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/nearest.h"
#include "base/utf8.h"

namespace dovetail::plan {
namespace {

using base::Node;
using base::Result;

Result<double> read_threshold(const Node& node, const Job& job, const std::vector<TaskPlan>& tasks) {
  DOVETAIL_CHECK(base::check_keys(node, "`inter_stage`", {"threshold"}));
  DOVETAIL_TRY(const Node value, base::require(node, "`inter_stage`", "threshold", "threshold: 0.2"));
  DOVETAIL_TRY(const double threshold, base::read_number(value, "`threshold`", 0, 1));
  if (const auto fault = find_threshold_fault(threshold, job, tasks))
    return value.error(fmt::format("`inter_stage`: {}", *fault));
  return threshold;
}

Result<std::size_t> read_train_task(const Node& node, const workflow::Workflow& workflow) {
  std::vector<std::string_view> names;
  for (const workflow::Task& task : workflow.tasks)
    if (task.kind == workflow::TaskKind::train) names.push_back(task.name);
  const auto task = node.is_string() ? workflow::find_task(workflow, node.text()) : std::nullopt;
  if (task && workflow.tasks[task->index()].kind == workflow::TaskKind::train) return task->index();
  if (names.empty()) return node.error(fmt::format("no task of {} trains; accepted: no `intra_stage`", workflow.name));
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

Result<Fusion> read_fusion(const Node& node, const Job& job, const std::vector<TaskPlan>& tasks) {
  DOVETAIL_CHECK(base::check_keys(node, "`fusion`", {"inter_stage", "intra_stage"}));
  if (node.size() == 0) return node.error("`fusion` is empty; accepted: inter_stage, intra_stage, or no `fusion`");
  Fusion fusion;
  if (const auto inter = node.find("inter_stage")) {
    DOVETAIL_TRY(fusion.threshold, read_threshold(*inter, job, tasks));
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
    DOVETAIL_CHECK(base::check_keys(*inter, "`inter_stage`", {"threshold"}));
    DOVETAIL_TRY(const Node threshold, base::require(*inter, "`inter_stage`", "threshold", "threshold: 0.2"));
    DOVETAIL_TRY(pin.threshold, base::read_number(threshold, "`threshold`", 0, 1));
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
