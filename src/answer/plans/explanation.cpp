#include "answer/plans/explanation.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/plans/job_input.h"
#include "answer/plans/plan_output.h"
#include "answer/question/json.h"
#include "answer/text/figures.h"
#include "answer/text/plan_text.h"
#include "answer/text/software_text.h"

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
              {"change", change_text(answer.scenario.job, answer.plan, change)},
              {"tasks", names},
              {"iteration_seconds", json_seconds(change.iteration_seconds)},
              {"gain_seconds", json_seconds(answer.explanation.estimate.iteration_seconds - change.iteration_seconds)},
              {"margin_bytes", change.margin},
              {"fullest", task_name(answer, change.min_margin_task)}};
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
    Json entry{{"step", activity_text(answer.scenario.job, step.kind, step.task)},
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

using predict::TaskMemory;

/// Differences in seconds below this are not shown.
constexpr double negligible = 0.0005;

std::string activity_name(const ExplanationAnswer& answer, const planner::ActivityComparison& step) {
  return activity_text(answer.scenario.job, step.kind, step.task);
}

std::string plain_seconds(double seconds) { return seconds < negligible ? "-" : seconds_text(seconds); }

/// Seconds of one use of devices; negative, with a sign, if fusion saves time.
std::string use_seconds_text(double seconds) {
  return seconds <= -negligible ? signed_seconds(seconds) : plain_seconds(seconds);
}

std::string state_text(const ExplanationAnswer& answer) {
  const planner::Explanation& explanation = answer.explanation;
  const TaskMemory& memory = explanation.estimate.memory[explanation.limit];
  const std::string& task = task_name(answer, explanation.limit);
  const std::string iteration = seconds_text(explanation.estimate.iteration_seconds);
  if (explanation.fits())
    return fmt::format("this plan       {} per iteration; {}, {} free on device {} in {}\n", iteration,
                       explanation.estimate.keeps_margin() ? "fits" : "tight", gibibytes(memory.margin()),
                       memory.device, task);
  const bool host = memory.host - memory.host_memory > -memory.margin();
  return fmt::format("this plan       does NOT fit: {} is short by {} {} (would take {} per iteration)\n", task,
                     gibibytes(explanation.missing),
                     host ? "of its node's host memory" : fmt::format("on device {}", memory.device), iteration);
}

std::string best_text(const ExplanationAnswer& answer) {
  const planner::Explanation& explanation = answer.explanation;
  const std::optional<planner::RankedPlan>& best = explanation.best;
  if (!best) {
    if (!explanation.impossible.empty()) return fmt::format("best plan       none: {}\n", explanation.impossible);
    const auto& nearest = explanation.ranking.nearest;
    if (!nearest) return "best plan       none found\n";
    return "best plan       " + nearest_text(*nearest, answer.scenario) + "\n";
  }
  const double gain = explanation.estimate.iteration_seconds - best->estimate.iteration_seconds;
  std::string text = fmt::format("best plan       {} per iteration ({})",
                                 seconds_text(best->estimate.iteration_seconds), name_of(best->placement));
  if (!explanation.fits()) return text + "\n";
  if (gain < negligible) {
    const bool other = best->plan.tasks != answer.plan.tasks || best->plan.fusion != answer.plan.fusion;
    text += ": no plan found is faster";
    if (other && best->simulated)
      text += " in the analytical model; the best plan ranks first among the simulated plans";
    return text + "\n";
  }
  text += fmt::format(": {} ({}) less", seconds_text(gain), percent(gain / explanation.estimate.iteration_seconds));
  if (best->estimate.iteration_seconds * (1 + answer.scenario.software.efficiency.error) >=
      explanation.estimate.iteration_seconds)
    text += fmt::format("; within the mean prediction error of {}", percent(answer.scenario.software.efficiency.error));
  return text + "\n";
}

/// Memory of the device that sets the limit, and of its node's host if that is exceeded.
Sections limit_sections(const ExplanationAnswer& answer) {
  const planner::Explanation& explanation = answer.explanation;
  const TaskMemory& memory = explanation.estimate.memory[explanation.limit];
  Sections all = fmt::format("\nIn {}, device {} holds {} of {}:\n", task_name(answer, explanation.limit),
                             memory.device, gibibytes(memory.needed()), gibibytes(memory.usable));
  all += parts_table(answer.scenario.job.workflow, memory);
  if (memory.host > memory.host_memory)
    all += fmt::format("Offloading needs {1} of host memory on a node that has {0}.\n", gibibytes(memory.host_memory),
                       gibibytes(memory.host));
  return all;
}

Table changes_table(const ExplanationAnswer& answer) {
  std::vector<std::vector<std::string>> rows;
  for (const Change& change : answer.explanation.changes)
    rows.push_back({signed_seconds(change.iteration_seconds - answer.explanation.estimate.iteration_seconds),
                    seconds_text(change.iteration_seconds), gibibytes(change.margin),
                    task_name(answer, change.min_margin_task), change_text(answer.scenario.job, answer.plan, change)});
  return {{{"time change"}, {"iteration"}, {"margin"}, {"in task", Align::left}, {"change", Align::left}}, rows};
}

/// Changes that make the plan fit only together.
std::string repair_text(const ExplanationAnswer& answer, const Change& repair) {
  std::string text = fmt::format(
      " Together, these changes make it fit: {1} per iteration ({0}), {2} free in {3}:\n",
      signed_seconds(repair.iteration_seconds - answer.explanation.estimate.iteration_seconds),
      seconds_text(repair.iteration_seconds), gibibytes(repair.margin), task_name(answer, repair.min_margin_task));
  for (const std::size_t task : repair.tasks) {
    Change one = repair;
    one.tasks = {task};
    text += "  " + change_text(answer.scenario.job, answer.plan, one) + "\n";
  }
  return text;
}

Sections changes_sections(const ExplanationAnswer& answer) {
  const planner::Explanation& explanation = answer.explanation;
  const std::string of_all = explanation.ranking.cut_short
                                 ? "\nNo single change that was tried before the search stopped"
                                 : "\nNo single change (of one task, of two tasks side by side, or of fusion)";
  if (explanation.fits()) {
    if (explanation.changes.empty()) return of_all + " makes the plan faster.\n";
    return "\nSingle changes that make the plan faster:\n" + changes_table(answer);
  }
  if (!explanation.changes.empty())
    return "\nSingle changes that make the plan fit, cheapest first:\n" + changes_table(answer);
  const std::string none = of_all + " makes the plan fit.";
  return explanation.repair ? none + repair_text(answer, *explanation.repair) : none + "\n";
}

/// Seconds of an activity. Fused activities show their total at the first one.
std::string step_seconds_text(double seconds, bool fused) {
  return fused && seconds < negligible ? "fused" : plain_seconds(seconds);
}

/// Main cause of the difference. The parts of an activity cannot be compared if only one of the plans fuses it.
std::string max_text(const planner::ActivityComparison& step) {
  if (step.fused_here != step.fused_there) return step.fused_here ? "fused here" : "fused in the best plan";
  if (!step.part || std::abs(step.of_part.lost()) < negligible) return "";
  return fmt::format("{} {}", base::enum_text(*step.part), signed_seconds(step.of_part.lost()));
}

Sections steps_sections(const ExplanationAnswer& answer, const planner::Comparison& comparison) {
  std::vector<std::vector<std::string>> rows;
  for (const planner::ActivityComparison& step : comparison.activities) {
    if (step.seconds.here < negligible && step.seconds.there < negligible) continue;
    const auto critical = [](double share, double seconds) {
      return seconds < negligible ? "-" : percent(std::clamp(share, 0.0, 1.0));
    };
    rows.push_back({activity_name(answer, step), step_seconds_text(step.seconds.here, step.fused_here),
                    step_seconds_text(step.seconds.there, step.fused_there), signed_seconds(step.seconds.lost()),
                    critical(step.critical.here, step.seconds.here), critical(step.critical.there, step.seconds.there),
                    max_text(step)});
  }
  return "\nActivities (only time on the critical path lengthens the iteration):\n" +
         Table{{{"activity", Align::left},
                {"this plan"},
                {"best plan"},
                {"lost"},
                {"critical"},
                {"critical in best"},
                {"main cause", Align::left}},
               rows};
}

/// The devices with the most idle time.
std::string idle_text(const planner::Comparison& comparison) {
  std::string text;
  for (std::size_t index = 0; index < std::min<std::size_t>(comparison.idle.size(), 3); ++index) {
    const planner::IdleDevices& idle = comparison.idle[index];
    if (idle.seconds < negligible) break;
    text += fmt::format("{} idle for {} of each iteration.\n",
                        idle.devices.count == 1 ? fmt::format("Device {} is", idle.devices.first)
                                                : fmt::format("Devices {}-{} are", idle.devices.first,
                                                              idle.devices.first + idle.devices.count - 1),
                        seconds_text(idle.seconds));
  }
  return text;
}

/// Rules run on no device. Their time is idle time unless tasks overlap it.
std::string rules_text(const ExplanationAnswer& answer, const planner::Comparison& comparison) {
  std::string text;
  for (const planner::ActivityComparison& step : comparison.activities)
    if (answer.scenario.job.workflow.tasks[step.task].kind == workflow::TaskKind::rule &&
        step.seconds.here >= negligible)
      text += fmt::format("{} takes {} without using a device; any part that no task overlaps is idle time.\n",
                          activity_name(answer, step), seconds_text(step.seconds.here));
  return text;
}

Sections uses_sections(const ExplanationAnswer& answer, const planner::Comparison& comparison) {
  std::vector<std::vector<std::string>> rows;
  for (const planner::TimeUse& use : comparison.uses) {
    if (std::abs(use.seconds.here) < negligible && std::abs(use.seconds.there) < negligible) continue;
    rows.push_back({std::string(base::enum_text(use.of)), use_seconds_text(use.seconds.here),
                    use_seconds_text(use.seconds.there), signed_seconds(use.seconds.lost())});
  }
  return "\nAverage device, per iteration:\n" +
         Table{{{"use", Align::left}, {"this plan"}, {"best plan"}, {"lost"}}, rows} + idle_text(comparison) +
         rules_text(answer, comparison);
}

std::string pins_text(const ExplanationAnswer& answer) {
  std::string text;
  for (const std::size_t task : answer.explanation.unlike_pins)
    text += fmt::format("{} differs from the job's `fixed` settings; the changes and the best plan respect them.\n",
                        task_name(answer, task));
  return text;
}

Sections comparison_sections(const ExplanationAnswer& answer, const planner::Comparison& comparison) {
  const planner::RankedPlan& best = *answer.explanation.best;
  return uses_sections(answer, comparison) + steps_sections(answer, comparison) + "\nBest plan:\n" +
         tasks_table(answer.scenario.job, best.plan) + fusion_text(answer.scenario.job, best.estimate);
}

}  // namespace

base::Result<ExplanationAnswer> answer_to(const ExplanationRequest& request, const Callbacks& callbacks) {
  const parallel::Cancellation stop(callbacks.cancellation, request.search.budget.time_limit);
  DOVETAIL_TRY(LoadedJob loaded, load_job(request.job, request.plan, callbacks, &stop));
  if (!loaded.plan) return base::bad_input("explain needs a plan; give --plan FILE");
  DOVETAIL_CHECK(notify_read(callbacks));
  DOVETAIL_TRY(const planner::RankOptions options,
               rank_options(request.search, loaded.scenario.job.placements, callbacks));
  auto explanation = planner::explain(loaded.scenario, *loaded.plan, options);
  if (!explanation.ok()) return at_input(std::move(explanation).error(), request.job);
  ExplanationAnswer answer{std::move(loaded.scenario), *std::move(loaded.plan), std::move(explanation).value()};
  std::vector<planner::Change>& changes = answer.explanation.changes;
  if (const auto shown = static_cast<std::size_t>(request.shown); changes.size() > shown)
    changes.erase(changes.begin() + request.shown, changes.end());
  answer.outcome = unless_interrupted(callbacks, answer.explanation.best ? Outcome::done : Outcome::infeasible);
  answer.scenario.cancellation = nullptr;
  return answer;
}

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
  add_fit(explanation.estimate.fit(), object);
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

Sections sections(const ExplanationAnswer& answer) {
  const plan::Job& job = answer.scenario.job;
  const planner::Explanation& explanation = answer.explanation;
  Sections all = job_line(job) + "\n" + assumptions_text(answer.scenario) + "\n";
  all += state_text(answer) + best_text(answer) + pins_text(answer) + profile_text(answer.scenario, answer.plan);
  if (!explanation.fits()) all += limit_sections(answer);
  all += changes_sections(answer);
  if (explanation.comparison) all += comparison_sections(answer, *explanation.comparison);
  if (!explanation.best && explanation.ranking.nearest)
    all += "\nClosest plan:\n" + tasks_table(job, explanation.ranking.nearest->plan);
  return all + cut_short_text(explanation.ranking) + not_modelled_text(job.not_modelled);
}

}  // namespace dovetail::answer
