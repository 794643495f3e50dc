#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "answer/plans/explanation.h"
#include "answer/plans/plan_tables.h"
#include "answer/words/amounts.h"
#include "answer/words/figures.h"
#include "answer/words/fusion_words.h"
#include "answer/words/plan_words.h"
#include "answer/words/profile_words.h"
#include "answer/words/software_words.h"

namespace dovetail::answer {
namespace {

using planner::Change;
using predict::TaskMemory;

/// Seconds below which nobody changes a plan.
constexpr double negligible = 0.0005;

const std::string& task_name(const ExplanationAnswer& answer, std::size_t task) {
  return answer.scenario.job.workflow.tasks[task].name;
}

std::string activity_name(const ExplanationAnswer& answer, const planner::ActivityComparison& step) {
  return activity_words(answer.scenario.job, step.kind, step.task);
}

std::string plain_seconds(double seconds) { return seconds < negligible ? "-" : seconds_text(seconds); }

/// The same with a sign where fusion takes something off.
std::string use_seconds_text(double seconds) {
  return seconds <= -negligible ? signed_seconds(seconds) : plain_seconds(seconds);
}

std::string state_text(const ExplanationAnswer& answer) {
  const planner::Explanation& explanation = answer.explanation;
  const TaskMemory& memory = explanation.estimate.memory[explanation.limit];
  const std::string& task = task_name(answer, explanation.limit);
  const std::string iteration = seconds_text(explanation.estimate.iteration_seconds);
  if (explanation.fits())
    return fmt::format("this plan       {} an iteration; it {}, with {} left on device {} in {}\n", iteration,
                       explanation.estimate.keeps_margin() ? "fits" : "is tight", gibibytes(memory.margin()),
                       memory.device, task);
  const bool host = memory.host - memory.host_memory > -memory.margin();
  return fmt::format("this plan       does NOT fit: {} misses {} of {} (it would take {} an iteration)\n", task,
                     gibibytes(explanation.missing),
                     host ? "its node's host memory" : fmt::format("device {}", memory.device), iteration);
}

std::string best_text(const ExplanationAnswer& answer) {
  const planner::Explanation& explanation = answer.explanation;
  const std::optional<planner::RankedPlan>& best = explanation.best;
  if (!best) {
    if (!explanation.impossible.empty())
      return fmt::format("the best plan   there is none: {}\n", explanation.impossible);
    const auto& nearest = explanation.ranking.nearest;
    if (!nearest) return "the best plan   none was found\n";
    return "the best plan   " + nearest_words(*nearest, answer.scenario) + "\n";
  }
  const double gain = explanation.estimate.iteration_seconds - best->estimate.iteration_seconds;
  std::string text = fmt::format("the best plan   {} an iteration ({})", seconds_text(best->estimate.iteration_seconds),
                                 name_of(best->placement));
  if (!explanation.fits()) return text + "\n";
  if (gain < negligible) {
    const bool other = best->plan.tasks != answer.plan.tasks || best->plan.fusion != answer.plan.fusion;
    text += ": no plan that was found is faster than this one";
    if (other && best->simulated)
      text += " by the closed form; it is the first of those that were played event by event";
    return text + "\n";
  }
  text += fmt::format(": {}, {} less", seconds_text(gain), percent(gain / explanation.estimate.iteration_seconds));
  if (best->estimate.iteration_seconds * (1 + answer.scenario.software.efficiency.error) >=
      explanation.estimate.iteration_seconds)
    text +=
        fmt::format("; within the predictions' mean error of {}", percent(answer.scenario.software.efficiency.error));
  return text + "\n";
}

/// What the fullest device of the task that sets the limit holds, and the node's host memory where that is too small.
Sections limit_sections(const ExplanationAnswer& answer) {
  const planner::Explanation& explanation = answer.explanation;
  const TaskMemory& memory = explanation.estimate.memory[explanation.limit];
  Sections all = fmt::format("\nIn {} device {} holds {} of {}:\n", task_name(answer, explanation.limit), memory.device,
                             gibibytes(memory.needed()), gibibytes(memory.usable));
  all += parts_table(answer.scenario.job.workflow, memory);
  if (memory.host > memory.host_memory)
    all += fmt::format("Of its node's host memory of {}, {} are asked for by what is offloaded.\n",
                       gibibytes(memory.host_memory), gibibytes(memory.host));
  return all;
}

Table changes_table(const ExplanationAnswer& answer) {
  std::vector<std::vector<std::string>> rows;
  for (const Change& change : answer.explanation.changes)
    rows.push_back({signed_seconds(change.iteration_seconds - answer.explanation.estimate.iteration_seconds),
                    seconds_text(change.iteration_seconds), gibibytes(change.margin), task_name(answer, change.fullest),
                    change_words(answer.scenario.job, answer.plan, change)});
  return {{{"costs"}, {"iteration"}, {"leaves"}, {"in", Align::left}, {"change", Align::left}}, rows};
}

/// Changes that make it fit together.
std::string repair_text(const ExplanationAnswer& answer, const Change& repair) {
  std::string text =
      fmt::format(" Together these do, for {} ({} an iteration), and leave {} in {}:\n",
                  signed_seconds(repair.iteration_seconds - answer.explanation.estimate.iteration_seconds),
                  seconds_text(repair.iteration_seconds), gibibytes(repair.margin), task_name(answer, repair.fullest));
  for (const std::size_t task : repair.tasks) {
    Change one = repair;
    one.tasks = {task};
    text += "  " + change_words(answer.scenario.job, answer.plan, one) + "\n";
  }
  return text;
}

Sections changes_sections(const ExplanationAnswer& answer) {
  const planner::Explanation& explanation = answer.explanation;
  const std::string of_all = explanation.ranking.cut_short
                                 ? "\nNo change that was looked at before the end"
                                 : "\nNo change of one task, of two side by side, or of what is fused";
  if (explanation.fits()) {
    if (explanation.changes.empty()) return of_all + " makes it faster.\n";
    return "\nChanges that make it faster, each by itself:\n" + changes_table(answer);
  }
  if (!explanation.changes.empty())
    return "\nChanges that make it fit, each by itself, the cheapest first:\n" + changes_table(answer);
  const std::string none = of_all + " makes it fit.";
  return explanation.repair ? none + repair_text(answer, *explanation.repair) : none + "\n";
}

/// Of a step that is fused with others, whose seconds stand at the first of them, there are none.
std::string step_seconds_text(double seconds, bool fused) {
  return fused && seconds < negligible ? "fused" : plain_seconds(seconds);
}

/// What makes the most of the difference; parts of what one plan alone fuses are of other kinds.
std::string max_text(const planner::ActivityComparison& step) {
  if (step.fused_here != step.fused_there) return step.fused_here ? "fused here" : "fused in the best";
  if (!step.part || std::abs(step.of_part.lost()) < negligible) return "";
  return fmt::format("{} {}", base::enum_name(*step.part), signed_seconds(step.of_part.lost()));
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
  return "\nStep by step; of a critical step each second counts, of another none:\n" +
         Table{
             {{"step", Align::left}, {"here"}, {"best"}, {"lost"}, {"critical"}, {"best"}, {"most of it", Align::left}},
             rows};
}

/// The idlest devices.
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

/// Rules run on no device: what no task hides of them is idle time.
std::string rules_text(const ExplanationAnswer& answer, const planner::Comparison& comparison) {
  std::string text;
  for (const planner::ActivityComparison& step : comparison.activities)
    if (answer.scenario.job.workflow.tasks[step.task].kind == workflow::TaskKind::rule &&
        step.seconds.here >= negligible)
      text += fmt::format("{} takes {} on no device; what no task hides of it is idle time.\n",
                          activity_name(answer, step), seconds_text(step.seconds.here));
  return text;
}

Sections uses_sections(const ExplanationAnswer& answer, const planner::Comparison& comparison) {
  std::vector<std::vector<std::string>> rows;
  for (const planner::TimeUse& use : comparison.uses) {
    if (std::abs(use.seconds.here) < negligible && std::abs(use.seconds.there) < negligible) continue;
    rows.push_back({std::string(base::enum_name(use.of)), use_seconds_text(use.seconds.here),
                    use_seconds_text(use.seconds.there), signed_seconds(use.seconds.lost())});
  }
  return "\nWhat the average device does in an iteration:\n" +
         Table{{{"what", Align::left}, {"here"}, {"best"}, {"lost"}}, rows} + idle_text(comparison) +
         rules_text(answer, comparison);
}

std::string pins_text(const ExplanationAnswer& answer) {
  std::string text;
  for (const std::size_t task : answer.explanation.unlike_pins)
    text += fmt::format("{} is not as the job fixes it; the changes and the best plan keep to what is fixed.\n",
                        task_name(answer, task));
  return text;
}

Sections comparison_sections(const ExplanationAnswer& answer, const planner::Comparison& comparison) {
  const planner::RankedPlan& best = *answer.explanation.best;
  return uses_sections(answer, comparison) + steps_sections(answer, comparison) + "\nThe best plan:\n" +
         tasks_table(answer.scenario.job, best.plan) + fusion_text(answer.scenario.job, best.estimate);
}

}  // namespace

Sections sections(const ExplanationAnswer& answer) {
  const plan::Job& job = answer.scenario.job;
  const planner::Explanation& explanation = answer.explanation;
  Sections all = job_line(job) + "\n" + assumptions_text(answer.scenario) + "\n";
  all += state_text(answer) + best_text(answer) + pins_text(answer) + profile_text(answer.scenario, answer.plan);
  if (!explanation.fits()) all += limit_sections(answer);
  all += changes_sections(answer);
  if (explanation.comparison) all += comparison_sections(answer, *explanation.comparison);
  if (!explanation.best && explanation.ranking.nearest)
    all += "\nThe nearest plan:\n" + tasks_table(job, explanation.ranking.nearest->plan);
  return all + cut_short_text(explanation.ranking) + not_modelled_text(job.not_modelled);
}

}  // namespace dovetail::answer
