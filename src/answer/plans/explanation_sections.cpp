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

/// Differences in seconds below this are not shown.
constexpr double negligible = 0.0005;

const std::string& task_name(const ExplanationAnswer& answer, std::size_t task) {
  return answer.scenario.job.workflow.tasks[task].name;
}

std::string activity_name(const ExplanationAnswer& answer, const planner::ActivityComparison& step) {
  return activity_words(answer.scenario.job, step.kind, step.task);
}

std::string plain_seconds(double seconds) { return seconds < negligible ? "-" : seconds_text(seconds); }

/// The same, with a sign if fusion saves time.
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
    return "best plan       " + nearest_words(*nearest, answer.scenario) + "\n";
  }
  const double gain = explanation.estimate.iteration_seconds - best->estimate.iteration_seconds;
  std::string text = fmt::format("best plan       {} per iteration ({})",
                                 seconds_text(best->estimate.iteration_seconds), name_of(best->placement));
  if (!explanation.fits()) return text + "\n";
  if (gain < negligible) {
    const bool other = best->plan.tasks != answer.plan.tasks || best->plan.fusion != answer.plan.fusion;
    text += ": no plan found is faster";
    if (other && best->simulated) text += " in the analytical model; it ranks first among the simulated plans";
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
    all += fmt::format("Offloading needs {1} of host memory, but the node has {0}.\n", gibibytes(memory.host_memory),
                       gibibytes(memory.host));
  return all;
}

Table changes_table(const ExplanationAnswer& answer) {
  std::vector<std::vector<std::string>> rows;
  for (const Change& change : answer.explanation.changes)
    rows.push_back({signed_seconds(change.iteration_seconds - answer.explanation.estimate.iteration_seconds),
                    seconds_text(change.iteration_seconds), gibibytes(change.margin), task_name(answer, change.fullest),
                    change_words(answer.scenario.job, answer.plan, change)});
  return {{{"time change"}, {"iteration"}, {"margin"}, {"in", Align::left}, {"change", Align::left}}, rows};
}

/// Changes that make the plan fit only together.
std::string repair_text(const ExplanationAnswer& answer, const Change& repair) {
  std::string text =
      fmt::format(" These together do, at {} ({} per iteration), and leave {} in {}:\n",
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
                                 ? "\nNo single change tried before the stop"
                                 : "\nNo single change (of one task, of two tasks side by side, or of fusion)";
  if (explanation.fits()) {
    if (explanation.changes.empty()) return of_all + " makes it faster.\n";
    return "\nSingle changes that make it faster:\n" + changes_table(answer);
  }
  if (!explanation.changes.empty())
    return "\nSingle changes that make it fit, cheapest first:\n" + changes_table(answer);
  const std::string none = of_all + " makes it fit.";
  return explanation.repair ? none + repair_text(answer, *explanation.repair) : none + "\n";
}

/// Activities that are fused with an earlier one have no seconds; the first of them has all.
std::string step_seconds_text(double seconds, bool fused) {
  return fused && seconds < negligible ? "fused" : plain_seconds(seconds);
}

/// Main cause of the difference. Parts are not comparable if only one of the plans fuses the activity.
std::string max_text(const planner::ActivityComparison& step) {
  if (step.fused_here != step.fused_there) return step.fused_here ? "fused here" : "fused in the best plan";
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
  return "\nActivities (only seconds on the critical path count):\n" + Table{{{"activity", Align::left},
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
    rows.push_back({std::string(base::enum_name(use.of)), use_seconds_text(use.seconds.here),
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
