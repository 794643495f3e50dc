#include "cli/ranking_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
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
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

using planner::RankedPlan;
using predict::Estimate;
using workflow::TaskKind;

/// From the first beginning to the last end of the tasks of a kind, within an iteration.
double seconds_of(const predict::Scenario& scenario, const Estimate& estimate, TaskKind kind) {
  std::optional<base::Ticks> begin;
  base::Ticks end;
  for (std::size_t task = 0; task < scenario.job.workflow.tasks.size(); ++task) {
    if (scenario.job.workflow.tasks[task].kind != kind) continue;
    const plan::ActivityTime& time = estimate.timing.activities[task];
    begin = begin ? std::min(*begin, time.begin) : time.begin;
    end = std::max(end, time.end);
  }
  return begin ? base::seconds_of_ticks(end - *begin) : 0;
}

std::int64_t max_host(const Estimate& estimate) {
  std::int64_t most = 0;
  for (const predict::TaskMemory& memory : estimate.memory) most = std::max(most, memory.host);
  return most;
}

bool has_timed_rule(const RankedJob& ranked) {
  const std::vector<workflow::Task>& tasks = ranked.scenario.job.workflow.tasks;
  return std::any_of(tasks.begin(), tasks.end(), [](const workflow::Task& task) { return task.time_per_sequence > base::Ticks(0); });
}

bool is_any_simulated(const planner::Ranking& ranking) {
  return std::any_of(ranking.plans.begin(), ranking.plans.end(), [](const RankedPlan& plan) { return plan.simulated.has_value(); });
}

std::string table_of(const RankedJob& ranked) {
  const bool priced = ranked.scenario.job.cluster.price.has_value();
  const bool played = is_any_simulated(ranked.ranking);
  std::vector<report::Column> columns{{"plan"}, {"placement", report::Align::left}, {"iteration"}};
  if (played) columns.push_back({"simulated"});
  std::vector<TaskKind> kinds{TaskKind::generate, TaskKind::infer, TaskKind::train};
  if (has_timed_rule(ranked)) kinds.push_back(TaskKind::rule);
  for (const TaskKind kind : kinds) columns.push_back({std::string(base::enum_name(kind))});
  for (const char* name : {"samples/s", "tokens/s/GPU", "GPU-h"}) columns.push_back({name});
  if (priced) columns.push_back({"cost"});
  for (const char* name : {"over bound", "fullest device", "of its"}) columns.push_back({name});
  columns.push_back({"while", report::Align::left});
  columns.push_back({"host"});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t index = 0; index < ranked.ranking.plans.size(); ++index) {
    const RankedPlan& plan = ranked.ranking.plans[index];
    const Estimate& estimate = plan.estimate;
    const std::size_t task = planner::fullest_task(estimate.memory);
    const predict::TaskMemory& memory = estimate.memory[task];
    const auto gap = ranked.ranking.gap(plan);
    const auto phase = [&](TaskKind kind) {
      const double seconds = seconds_of(ranked.scenario, estimate, kind);
      return seconds > 0 ? answer::seconds_text(seconds) : "-";
    };
    std::vector<std::string> row{fmt::format("{}{}", index + 1, index > 0 && index <= ranked.ranking.ties ? "=" : ""),
                                 std::string(name_of(plan.placement)), answer::seconds_text(estimate.iteration_seconds)};
    if (played) row.push_back(plan.simulated ? answer::seconds_text(*plan.simulated) : "-");
    for (const TaskKind kind : kinds) row.push_back(phase(kind));
    row.push_back(fmt::format("{:.2f}", estimate.samples_per_second));
    row.push_back(fmt::format("{:.0f}", estimate.tokens_per_second));
    row.push_back(fmt::format("{:.3f}", estimate.gpu_hours));
    if (priced) row.push_back(fmt::format("{:.2f}", *estimate.price));
    for (std::string& text : std::vector<std::string>{gap ? answer::percent(*gap) : "-", answer::gibibytes(memory.needed()),
                                                      answer::gibibytes(memory.usable), ranked.scenario.job.workflow.tasks[task].name,
                                                      max_host(estimate) > 0 ? answer::gibibytes(max_host(estimate)) : "-"})
      row.push_back(std::move(text));
    rows.push_back(std::move(row));
  }
  return report::render_table(columns, rows);
}

std::string flips_of(const RankedJob& ranked) {
  if (ranked.ranking.plans.size() < 2) return "";
  if (ranked.flips.empty()) return "\nNo input by itself, halved or doubled, makes another of these plans the best.\n";
  std::string text = "\nWhat would change the choice:\n";
  for (const planner::Flip& flip : ranked.flips)
    text += fmt::format("  {} x {:g}: plan {} ({}) is {} faster\n", flip.input, flip.factor, flip.plan + 1,
                        name_of(ranked.ranking.plans[flip.plan].placement), answer::percent(flip.gain));
  return text;
}

/// What no plan beats: those that fuse nothing, and all.
std::string bound_text(const planner::Ranking& ranking) {
  std::string text = fmt::format("\nNo plan of the meshes, layouts and settings looked at that fuses nothing takes less than {}",
                                 answer::seconds_text(ranking.bound));
  if (ranking.fused_bound) text += fmt::format(", none that fuses stages less than {}", answer::seconds_text(*ranking.fused_bound));
  return text + " (proven of the closed form).\n";
}

/// How the search went, with the iterations that repeat it.
std::string search_text(const planner::SearchRun& search) {
  return fmt::format("search: {} x {} iterations, seed {}, stopped by {}\ntook: {:.1f} s\n", answer::counted(search.chains, "chain"),
                     search.iterations, search.seed, pipeline::name_of(search.stopped_by), search.seconds);
}

answer::Json search_json(const planner::SearchRun& search) {
  return answer::Json{{"seed", search.seed},
                      {"chains", search.chains},
                      {"iterations", search.iterations},
                      {"stopped_by", pipeline::name_of(search.stopped_by)}};
}

/// A line for each placement that was asked for and is not in the table.
std::string absent_text(const planner::Ranking& ranking) {
  std::string text;
  for (const planner::AbsentPlacement& absent : ranking.absent) text += fmt::format("{}: {}\n", name_of(absent.placement), absent.why);
  return text;
}

std::string nearest_text(const RankedJob& ranked) {
  const planner::NearestPlan& nearest = *ranked.ranking.nearest;
  return answer::nearest_words(nearest, ranked.scenario) + ":\n\n" + tasks_table(ranked.scenario.job, nearest.plan);
}

answer::Json plan_json(const RankedJob& ranked, std::size_t index) {
  const RankedPlan& plan = ranked.ranking.plans[index];
  const Estimate& estimate = plan.estimate;
  const std::size_t task = planner::fullest_task(estimate.memory);
  answer::Json object{{"placement", name_of(plan.placement)},
                      {"tie", index > 0 && index <= ranked.ranking.ties},
                      {"iteration_seconds", answer::json_seconds(estimate.iteration_seconds)},
                      {"samples_per_second", answer::json_ratio(estimate.samples_per_second)},
                      {"tokens_per_second_and_device", answer::json_ratio(estimate.tokens_per_second)},
                      {"gpu_hours", answer::json_ratio(estimate.gpu_hours)}};
  if (plan.simulated) object["simulated_seconds"] = answer::json_seconds(*plan.simulated);
  if (const auto gap = ranked.ranking.gap(plan)) object["over_bound"] = answer::json_ratio(*gap);
  if (estimate.price) object["price"] = answer::json_ratio(*estimate.price);
  if (plan.plan.fusion.any()) object["fusion"] = fusion_json(ranked.scenario.job, estimate);
  object["phases"] = answer::Json{{"generate", answer::json_seconds(seconds_of(ranked.scenario, estimate, TaskKind::generate))},
                                  {"infer", answer::json_seconds(seconds_of(ranked.scenario, estimate, TaskKind::infer))},
                                  {"train", answer::json_seconds(seconds_of(ranked.scenario, estimate, TaskKind::train))}};
  if (has_timed_rule(ranked)) object["phases"]["rule"] = answer::json_seconds(seconds_of(ranked.scenario, estimate, TaskKind::rule));
  object["device_memory"] = answer::Json{{"bytes", estimate.memory[task].needed()},
                                         {"usable", estimate.memory[task].usable},
                                         {"task", ranked.scenario.job.workflow.tasks[task].name},
                                         {"host_bytes", max_host(estimate)}};
  object["tasks"] = tasks_json(ranked.scenario.job, plan.plan);
  return object;
}

}  // namespace

std::string to_text(const RankedJob& ranked) {
  const plan::Job& job = ranked.scenario.job;
  const cost::Efficiency& efficiency = ranked.scenario.software.efficiency;
  std::string text = answer::job_line(job) + "\n";
  text += fmt::format("efficiencies: {} (mean error {}); memory as {}\n", efficiency.name, answer::percent(efficiency.error),
                      ranked.scenario.software.conventions.name);
  text += fmt::format("{}\nplans leave {}\n\n", answer::efficiency_words(ranked.scenario.software), answer::margin_words(ranked.scenario));
  if (ranked.ranking.plans.empty())
    return text + (ranked.ranking.nearest ? nearest_text(ranked) : "no plan was found:\n") + "\n" + absent_text(ranked.ranking);
  text += table_of(ranked);
  if (!ranked.ranking.absent.empty()) text += "\n" + absent_text(ranked.ranking);
  if (ranked.ranking.bound > 0) text += bound_text(ranked.ranking);
  if (is_any_simulated(ranked.ranking)) text += "simulated: played event by event; the plans that were are in this order\n";
  if (ranked.too_many_samples) text += "no plan was played event by event: an iteration has too many samples\n";
  if (ranked.ranking.search) text += search_text(*ranked.ranking.search);
  text += cut_short_text(ranked.ranking);
  if (ranked.ranking.ties > 0) text += "=: a tie with the first, within the mean error of the predictions\n";
  text += "\nThe first plan:\n" + tasks_table(job, ranked.ranking.plans.front().plan);
  text += fusion_text(job, ranked.ranking.plans.front().estimate);
  text += profile_text(ranked.scenario, ranked.ranking.plans.front().plan);
  for (const std::string& reason : ranked.ranking.not_fused) text += reason + "\n";
  return text + flips_of(ranked);
}

answer::Json to_json(const RankedJob& ranked) {
  answer::Json object{{"format", "dovetail/ranking@1"},
                      {"job", ranked.scenario.job.name},
                      {"efficiency", ranked.scenario.software.efficiency.name},
                      {"error", answer::json_ratio(ranked.scenario.software.efficiency.error)},
                      {"conventions", ranked.scenario.software.conventions.name},
                      {"bound_seconds", answer::json_seconds(ranked.ranking.bound)},
                      {"plans", answer::Json::array()},
                      {"absent", answer::Json::array()},
                      {"flips", answer::Json::array()}};
  add_efficiency_reason(ranked.scenario.software, object);
  for (std::size_t index = 0; index < ranked.ranking.plans.size(); ++index) object["plans"].push_back(plan_json(ranked, index));
  if (ranked.ranking.fused_bound) object["fused_bound_seconds"] = answer::json_seconds(*ranked.ranking.fused_bound);
  if (!ranked.ranking.plans.empty()) add_profile(ranked.scenario, ranked.ranking.plans.front().plan, object);
  if (!ranked.ranking.not_fused.empty()) object["not_fused"] = ranked.ranking.not_fused;
  for (const planner::AbsentPlacement& absent : ranked.ranking.absent)
    object["absent"].push_back(answer::Json{{"placement", name_of(absent.placement)}, {"why", absent.why}});
  for (const planner::Flip& flip : ranked.flips)
    object["flips"].push_back(
        answer::Json{{"input", flip.input}, {"factor", flip.factor}, {"plan", flip.plan}, {"gain", answer::json_ratio(flip.gain)}});
  if (const auto& search = ranked.ranking.search) {
    object["search"] = search_json(*search);
    object["timing"] = answer::Json{{"seconds", answer::json_seconds(search->seconds)},
                                    {"evaluations_per_second", answer::json_ratio(search->evaluations_per_second)}};
  }
  add_stopped_by(ranked.ranking, object);
  if (const auto& nearest = ranked.ranking.nearest)
    object["nearest"] = answer::Json{{"missing_bytes", nearest->missing},
                                     {"task", ranked.scenario.job.workflow.tasks[nearest->task].name},
                                     {"tasks", tasks_json(ranked.scenario.job, nearest->plan)}};
  return object;
}

}  // namespace dovetail::cli
