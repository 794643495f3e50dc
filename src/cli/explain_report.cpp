#include "cli/explain_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/question/json.h"
#include "answer/words/amounts.h"
#include "answer/words/figures.h"
#include "answer/words/plan_words.h"
#include "answer/words/software_words.h"
#include "answer/words/text.h"
#include "cli/fusion_words.h"
#include "cli/job.h"
#include "cli/plan_words.h"
#include "cli/profile_words.h"
#include "cli/software_json.h"
#include "cluster/mesh.h"
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

using answer::signed_seconds;
using planner::Change;
using planner::SecondsPair;
using predict::Estimate;
using predict::TaskMemory;

/// Seconds below which nobody changes a plan.
constexpr double negligible = 0.0005;

const std::string& name_of(const ExplainedPlan& explained, std::size_t task) { return explained.scenario.job.workflow.tasks[task].name; }

std::string activity_name(const ExplainedPlan& explained, const planner::ActivityComparison& step) {
  return answer::activity_words(explained.scenario.job, step.kind, step.task);
}

std::string plain_seconds(double seconds) { return seconds < negligible ? "-" : answer::seconds_text(seconds); }

/// The same with a sign where fusion takes something off.
std::string use_seconds_text(double seconds) { return seconds <= -negligible ? signed_seconds(seconds) : plain_seconds(seconds); }

std::string state_text(const ExplainedPlan& explained) {
  const planner::Explanation& explanation = explained.explanation;
  const TaskMemory& memory = explanation.estimate.memory[explanation.limit];
  const std::string& task = name_of(explained, explanation.limit);
  const std::string iteration = answer::seconds_text(explanation.estimate.iteration_seconds);
  if (explanation.fits())
    return fmt::format("this plan       {} an iteration; it {}, with {} left on device {} in {}\n", iteration,
                       explanation.estimate.keeps_margin() ? "fits" : "is tight", answer::gibibytes(memory.margin()), memory.device, task);
  const bool host = memory.host - memory.host_memory > -memory.margin();
  return fmt::format("this plan       does NOT fit: {} misses {} of {} (it would take {} an iteration)\n", task,
                     answer::gibibytes(explanation.missing), host ? "its node's host memory" : fmt::format("device {}", memory.device),
                     iteration);
}

std::string best_text(const ExplainedPlan& explained) {
  const planner::Explanation& explanation = explained.explanation;
  const std::optional<planner::RankedPlan>& best = explanation.best;
  if (!best) {
    if (!explanation.impossible.empty()) return fmt::format("the best plan   there is none: {}\n", explanation.impossible);
    const auto& nearest = explanation.ranking.nearest;
    if (!nearest) return "the best plan   none was found\n";
    return "the best plan   " + answer::nearest_words(*nearest, explained.scenario) + "\n";
  }
  const double gain = explanation.estimate.iteration_seconds - best->estimate.iteration_seconds;
  std::string text =
      fmt::format("the best plan   {} an iteration ({})", answer::seconds_text(best->estimate.iteration_seconds), name_of(best->placement));
  if (!explanation.fits()) return text + "\n";
  if (gain < negligible) {
    const bool other = best->plan.tasks != explained.plan.tasks || best->plan.fusion != explained.plan.fusion;
    text += ": no plan that was found is faster than this one";
    if (other && best->simulated) text += " by the closed form; it is the first of those that were played event by event";
    return text + "\n";
  }
  text += fmt::format(": {}, {} less", answer::seconds_text(gain), answer::percent(gain / explanation.estimate.iteration_seconds));
  if (best->estimate.iteration_seconds * (1 + explained.scenario.software.efficiency.error) >= explanation.estimate.iteration_seconds)
    text += fmt::format("; within the predictions' mean error of {}", answer::percent(explained.scenario.software.efficiency.error));
  return text + "\n";
}

/// What the fullest device of the task that sets the limit holds, and the node's host memory where that is too small.
std::string limit_text(const ExplainedPlan& explained) {
  const planner::Explanation& explanation = explained.explanation;
  const TaskMemory& memory = explanation.estimate.memory[explanation.limit];
  std::vector<std::vector<std::string>> rows;
  for (const predict::MemoryPart& part : memory.parts)
    rows.push_back({name_of(part, explained.scenario.job.workflow), answer::gibibytes(part.bytes),
                    answer::percent(static_cast<double>(part.bytes) / static_cast<double>(memory.usable))});
  std::string text = fmt::format("\nIn {} device {} holds {} of {}:\n", name_of(explained, explanation.limit), memory.device,
                                 answer::gibibytes(memory.needed()), answer::gibibytes(memory.usable));
  text += report::render_table({{"what", report::Align::left}, {"holds"}, {"of the device"}}, rows);
  if (memory.host > memory.host_memory)
    text += fmt::format("Of its node's host memory of {}, {} are asked for by what is offloaded.\n", answer::gibibytes(memory.host_memory),
                        answer::gibibytes(memory.host));
  return text;
}

std::string changes_table(const ExplainedPlan& explained, const std::vector<Change>& changes) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t index = 0; index < std::min(changes.size(), explained.shown); ++index) {
    const Change& change = changes[index];
    rows.push_back({signed_seconds(change.iteration_seconds - explained.explanation.estimate.iteration_seconds),
                    answer::seconds_text(change.iteration_seconds), answer::gibibytes(change.margin), name_of(explained, change.fullest),
                    change_words(explained.scenario.job, explained.plan, change)});
  }
  return report::render_table({{"costs"}, {"iteration"}, {"leaves"}, {"in", report::Align::left}, {"change", report::Align::left}}, rows);
}

std::string changes_text(const ExplainedPlan& explained) {
  const planner::Explanation& explanation = explained.explanation;
  if (explanation.fits()) {
    if (explanation.changes.empty()) return "\nNo change of one task, of two side by side, or of what is fused makes it faster.\n";
    return "\nChanges that make it faster, each by itself:\n" + changes_table(explained, explanation.changes);
  }
  if (!explanation.changes.empty())
    return "\nChanges that make it fit, each by itself, the cheapest first:\n" + changes_table(explained, explanation.changes);
  const std::string none = "\nNo change of one task, of two side by side, or of what is fused makes it fit.";
  if (!explanation.repair) return none + "\n";
  const Change& repair = *explanation.repair;
  std::string text =
      fmt::format("{} Together these do, for {} ({} an iteration), and leave {} in {}:\n", none,
                  signed_seconds(repair.iteration_seconds - explanation.estimate.iteration_seconds),
                  answer::seconds_text(repair.iteration_seconds), answer::gibibytes(repair.margin), name_of(explained, repair.fullest));
  for (const std::size_t task : repair.tasks) {
    Change one = repair;
    one.tasks = {task};
    text += "  " + change_words(explained.scenario.job, explained.plan, one) + "\n";
  }
  return text;
}

/// Of a step that is fused with others, whose seconds stand at the first of them, there are none.
std::string step_seconds_text(double seconds, bool fused) { return fused && seconds < negligible ? "fused" : plain_seconds(seconds); }

/// What makes the most of the difference; parts of what one plan alone fuses are of other kinds.
std::string max_text(const planner::ActivityComparison& step) {
  if (step.fused_here != step.fused_there) return step.fused_here ? "fused here" : "fused in the best";
  if (step.part.empty() || std::abs(step.of_part.lost()) < negligible) return "";
  return fmt::format("{} {}", step.part, signed_seconds(step.of_part.lost()));
}

std::string steps_text(const ExplainedPlan& explained, const planner::Comparison& comparison) {
  std::vector<std::vector<std::string>> rows;
  for (const planner::ActivityComparison& step : comparison.activities) {
    if (step.seconds.here < negligible && step.seconds.there < negligible) continue;
    const auto critical = [](double share, double seconds) {
      return seconds < negligible ? "-" : answer::percent(std::clamp(share, 0.0, 1.0));
    };
    rows.push_back({activity_name(explained, step), step_seconds_text(step.seconds.here, step.fused_here),
                    step_seconds_text(step.seconds.there, step.fused_there), signed_seconds(step.seconds.lost()),
                    critical(step.critical.here, step.seconds.here), critical(step.critical.there, step.seconds.there), max_text(step)});
  }
  return "\nStep by step; of a critical step each second counts, of another none:\n" +
         report::render_table(
             {{"step", report::Align::left}, {"here"}, {"best"}, {"lost"}, {"critical"}, {"best"}, {"most of it", report::Align::left}},
             rows);
}

/// Rules run on no device: what no task hides of them is idle time.
std::string rules_text(const ExplainedPlan& explained, const planner::Comparison& comparison) {
  std::string text;
  for (const planner::ActivityComparison& step : comparison.activities)
    if (explained.scenario.job.workflow.tasks[step.task].kind == workflow::TaskKind::rule && step.seconds.here >= negligible)
      text += fmt::format("{} takes {} on no device; what no task hides of it is idle time.\n", activity_name(explained, step),
                          answer::seconds_text(step.seconds.here));
  return text;
}

std::string uses_text(const ExplainedPlan& explained, const planner::Comparison& comparison) {
  std::vector<std::vector<std::string>> rows;
  for (const planner::TimeUse& use : comparison.uses) {
    if (std::abs(use.seconds.here) < negligible && std::abs(use.seconds.there) < negligible) continue;
    rows.push_back({use.name, use_seconds_text(use.seconds.here), use_seconds_text(use.seconds.there), signed_seconds(use.seconds.lost())});
  }
  std::string text = "\nWhat the average device does in an iteration:\n" +
                     report::render_table({{"what", report::Align::left}, {"here"}, {"best"}, {"lost"}}, rows);
  for (std::size_t index = 0; index < std::min<std::size_t>(comparison.idle.size(), 3); ++index) {
    const planner::IdleDevices& idle = comparison.idle[index];
    if (idle.seconds < negligible) break;
    text += fmt::format("{} idle for {} of each iteration.\n",
                        idle.devices.count == 1
                            ? fmt::format("Device {} is", idle.devices.first)
                            : fmt::format("Devices {}-{} are", idle.devices.first, idle.devices.first + idle.devices.count - 1),
                        answer::seconds_text(idle.seconds));
  }
  return text + rules_text(explained, comparison);
}

std::string pins_text(const ExplainedPlan& explained) {
  std::string text;
  for (const std::size_t task : explained.explanation.unlike_pins)
    text += fmt::format("{} is not as the job fixes it; the changes and the best plan keep to what is fixed.\n", name_of(explained, task));
  return text;
}

answer::Json pair_json(const SecondsPair& seconds) {
  return answer::Json{{"here", answer::json_seconds(seconds.here)}, {"best", answer::json_seconds(seconds.there)}};
}

answer::Json change_json(const ExplainedPlan& explained, const Change& change) {
  answer::Json names = answer::Json::array();
  for (const std::size_t task : change.tasks) names.push_back(name_of(explained, task));
  answer::Json object{{"kind", name_of(change.kind)},
                      {"change", change_words(explained.scenario.job, explained.plan, change)},
                      {"tasks", names},
                      {"iteration_seconds", answer::json_seconds(change.iteration_seconds)},
                      {"gain_seconds", answer::json_seconds(explained.explanation.estimate.iteration_seconds - change.iteration_seconds)},
                      {"margin_bytes", change.margin},
                      {"fullest", name_of(explained, change.fullest)}};
  object["plan"] = tasks_json(explained.scenario.job, change.plan);
  return object;
}

answer::Json limit_json(const ExplainedPlan& explained) {
  const planner::Explanation& explanation = explained.explanation;
  const TaskMemory& memory = explanation.estimate.memory[explanation.limit];
  answer::Json object{{"task", name_of(explained, explanation.limit)},
                      {"device", memory.device},
                      {"bytes", memory.needed()},
                      {"usable", memory.usable},
                      {"host_bytes", memory.host},
                      {"host_memory", memory.host_memory},
                      {"missing_bytes", explanation.missing},
                      {"parts", answer::Json::array()}};
  for (const predict::MemoryPart& part : memory.parts)
    object["parts"].push_back(answer::Json{{"name", name_of(part, explained.scenario.job.workflow)}, {"bytes", part.bytes}});
  return object;
}

answer::Json best_json(const ExplainedPlan& explained, const planner::RankedPlan& best) {
  const Estimate& estimate = explained.explanation.estimate;
  answer::Json object{
      {"placement", name_of(best.placement)},
      {"iteration_seconds", answer::json_seconds(best.estimate.iteration_seconds)},
      {"gain_seconds", answer::json_seconds(estimate.iteration_seconds - best.estimate.iteration_seconds)},
      {"tie", best.estimate.iteration_seconds * (1 + explained.scenario.software.efficiency.error) >= estimate.iteration_seconds}};
  if (best.plan.fusion.any()) object["fusion"] = fusion_json(explained.scenario.job, best.estimate);
  object["tasks"] = tasks_json(explained.scenario.job, best.plan);
  return object;
}

answer::Json comparison_json(const ExplainedPlan& explained, const planner::Comparison& comparison) {
  answer::Json object{{"steps", answer::Json::array()}, {"uses", answer::Json::array()}, {"idle", answer::Json::array()}};
  for (const planner::ActivityComparison& step : comparison.activities) {
    answer::Json entry{
        {"step", activity_name(explained, step)},
        {"seconds", pair_json(step.seconds)},
        {"critical", answer::Json{{"here", answer::json_ratio(step.critical.here)}, {"best", answer::json_ratio(step.critical.there)}}}};
    if (!step.part.empty()) entry["part"] = answer::Json{{"name", step.part}, {"seconds", pair_json(step.of_part)}};
    if (step.fused_here || step.fused_there) entry["fused"] = answer::Json{{"here", step.fused_here}, {"best", step.fused_there}};
    object["steps"].push_back(std::move(entry));
  }
  for (const planner::TimeUse& use : comparison.uses)
    object["uses"].push_back(answer::Json{{"name", use.name}, {"seconds", pair_json(use.seconds)}});
  for (const planner::IdleDevices& idle : comparison.idle)
    object["idle"].push_back(
        answer::Json{{"first", idle.devices.first}, {"count", idle.devices.count}, {"seconds", answer::json_seconds(idle.seconds)}});
  return object;
}

}  // namespace

std::string to_text(const ExplainedPlan& explained) {
  const plan::Job& job = explained.scenario.job;
  const planner::Explanation& explanation = explained.explanation;
  std::string text = answer::job_line(job) + "\n";
  text += fmt::format("efficiencies: {} (mean error {}); memory as {}\n", explained.scenario.software.efficiency.name,
                      answer::percent(explained.scenario.software.efficiency.error), explained.scenario.software.conventions.name);
  text += fmt::format("{}\nplans leave {}\n\n", answer::efficiency_words(explained.scenario.software),
                      answer::margin_words(explained.scenario));
  text += state_text(explained) + best_text(explained) + pins_text(explained) + profile_text(explained.scenario, explained.plan);
  if (!explanation.fits()) text += limit_text(explained);
  text += changes_text(explained);
  if (explanation.comparison) text += uses_text(explained, *explanation.comparison) + steps_text(explained, *explanation.comparison);
  if (explanation.comparison)
    text += "\nThe best plan:\n" + tasks_table(job, explanation.best->plan) + fusion_text(job, explanation.best->estimate);
  if (!explanation.best && explanation.ranking.nearest)
    text += "\nThe nearest plan:\n" + tasks_table(job, explanation.ranking.nearest->plan);
  return text + cut_short_text(explanation.ranking);
}

answer::Json to_json(const ExplainedPlan& explained) {
  const planner::Explanation& explanation = explained.explanation;
  answer::Json object{{"format", "dovetail/explain@1"},
                      {"job", explained.scenario.job.name},
                      {"efficiency", explained.scenario.software.efficiency.name},
                      {"error", answer::json_ratio(explained.scenario.software.efficiency.error)},
                      {"conventions", explained.scenario.software.conventions.name},
                      {"fits", explanation.fits()},
                      {"iteration_seconds", answer::json_seconds(explanation.estimate.iteration_seconds)},
                      {"limit", limit_json(explained)},
                      {"changes", answer::Json::array()}};
  add_efficiency_reason(explained.scenario.software, object);
  add_verdict(explanation.estimate.fit(), object);
  for (std::size_t index = 0; index < std::min(explanation.changes.size(), explained.shown); ++index)
    object["changes"].push_back(change_json(explained, explanation.changes[index]));
  if (explanation.repair) object["repair"] = change_json(explained, *explanation.repair);
  if (explanation.best) object["best_plan"] = best_json(explained, *explanation.best);
  if (explanation.comparison) object["comparison"] = comparison_json(explained, *explanation.comparison);
  if (!explanation.impossible.empty()) object["impossible"] = explanation.impossible;
  if (const auto& nearest = explanation.ranking.nearest)
    object["nearest"] = answer::Json{{"missing_bytes", nearest->missing},
                                     {"task", name_of(explained, nearest->task)},
                                     {"tasks", tasks_json(explained.scenario.job, nearest->plan)}};
  add_stopped_by(explanation.ranking, object);
  add_profile(explained.scenario, explained.plan, object);
  object["unlike_pins"] = answer::Json::array();
  for (const std::size_t task : explanation.unlike_pins) object["unlike_pins"].push_back(name_of(explained, task));
  return object;
}

}  // namespace dovetail::cli
