#include <utility>

#include "answer/plans/explanation.h"
#include "answer/plans/plan_json.h"
#include "answer/question/json.h"
#include "answer/words/plan_words.h"

namespace dovetail::answer {
namespace {

using planner::Change;
using planner::SecondsPair;

const std::string& task_name(const ExplanationAnswer& answer, std::size_t task) {
  return answer.scenario.job.workflow.tasks[task].name;
}

Json pair_json(const SecondsPair& seconds) {
  return Json{{"here", json_seconds(seconds.here)}, {"best", json_seconds(seconds.there)}};
}

Json change_json(const ExplanationAnswer& answer, const Change& change) {
  Json names = Json::array();
  for (const std::size_t task : change.tasks) names.push_back(task_name(answer, task));
  Json object{{"kind", name_of(change.kind)},
              {"change", change_words(answer.scenario.job, answer.plan, change)},
              {"tasks", names},
              {"iteration_seconds", json_seconds(change.iteration_seconds)},
              {"gain_seconds", json_seconds(answer.explanation.estimate.iteration_seconds - change.iteration_seconds)},
              {"margin_bytes", change.margin},
              {"fullest", task_name(answer, change.fullest)}};
  add_plan(answer.scenario.job, change.plan, object);
  return object;
}

Json limit_json(const ExplanationAnswer& answer) {
  const planner::Explanation& explanation = answer.explanation;
  const predict::TaskMemory& memory = explanation.estimate.memory[explanation.limit];
  return Json{{"task", task_name(answer, explanation.limit)},
              {"device", memory.device},
              {"bytes", memory.needed()},
              {"usable", memory.usable},
              {"host_bytes", memory.host},
              {"host_memory", memory.host_memory},
              {"missing_bytes", explanation.missing},
              {"parts", parts_json(answer.scenario.job.workflow, memory)}};
}

Json best_json(const ExplanationAnswer& answer, const planner::RankedPlan& best) {
  const predict::Estimate& estimate = answer.explanation.estimate;
  Json object{{"placement", name_of(best.placement)},
              {"iteration_seconds", json_seconds(best.estimate.iteration_seconds)},
              {"gain_seconds", json_seconds(estimate.iteration_seconds - best.estimate.iteration_seconds)},
              {"tie", best.estimate.iteration_seconds * (1 + answer.scenario.software.efficiency.error) >=
                          estimate.iteration_seconds}};
  if (best.plan.fusion.any()) object["fusion"] = fusion_json(answer.scenario.job, best.estimate);
  add_plan(answer.scenario.job, best.plan, object);
  return object;
}

Json comparison_json(const ExplanationAnswer& answer, const planner::Comparison& comparison) {
  Json object{{"steps", Json::array()}, {"uses", Json::array()}, {"idle", Json::array()}};
  for (const planner::ActivityComparison& step : comparison.activities) {
    Json entry{{"step", activity_words(answer.scenario.job, step.kind, step.task)},
               {"seconds", pair_json(step.seconds)},
               {"critical", Json{{"here", json_ratio(step.critical.here)}, {"best", json_ratio(step.critical.there)}}}};
    if (step.part) entry["part"] = Json{{"name", base::enum_name(*step.part)}, {"seconds", pair_json(step.of_part)}};
    if (step.fused_here || step.fused_there)
      entry["fused"] = Json{{"here", step.fused_here}, {"best", step.fused_there}};
    object["steps"].push_back(std::move(entry));
  }
  for (const planner::TimeUse& use : comparison.uses)
    object["uses"].push_back(Json{{"name", base::enum_name(use.of)}, {"seconds", pair_json(use.seconds)}});
  for (const planner::IdleDevices& idle : comparison.idle)
    object["idle"].push_back(
        Json{{"first", idle.devices.first}, {"count", idle.devices.count}, {"seconds", json_seconds(idle.seconds)}});
  return object;
}

}  // namespace

std::string to_json(const ExplanationAnswer& answer) {
  const planner::Explanation& explanation = answer.explanation;
  Json object{{"format", "dovetail/explain@2"},
              {"job", answer.scenario.job.name},
              {"efficiency", answer.scenario.software.efficiency.name},
              {"error", json_ratio(answer.scenario.software.efficiency.error)},
              {"conventions", answer.scenario.software.conventions.name},
              {"fits", explanation.fits()},
              {"iteration_seconds", json_seconds(explanation.estimate.iteration_seconds)},
              {"limit", limit_json(answer)},
              {"changes", Json::array()}};
  add_efficiency_reason(answer.scenario.software, object);
  add_not_modelled(answer.scenario.job.not_modelled, object);
  add_verdict(explanation.estimate.fit(), object);
  for (const Change& change : explanation.changes) object["changes"].push_back(change_json(answer, change));
  if (explanation.repair) object["repair"] = change_json(answer, *explanation.repair);
  if (explanation.best) object["best_plan"] = best_json(answer, *explanation.best);
  if (explanation.comparison) object["comparison"] = comparison_json(answer, *explanation.comparison);
  if (!explanation.impossible.empty()) object["impossible"] = explanation.impossible;
  if (explanation.ranking.nearest) object["nearest"] = nearest_json(answer.scenario.job, *explanation.ranking.nearest);
  add_stopped_by(explanation.ranking, object);
  add_profile(answer.scenario, answer.plan, object);
  object["unlike_pins"] = Json::array();
  for (const std::size_t task : explanation.unlike_pins) object["unlike_pins"].push_back(task_name(answer, task));
  return json_text(object);
}

}  // namespace dovetail::answer
