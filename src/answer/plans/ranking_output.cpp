#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "answer/plans/plan_output.h"
#include "answer/plans/ranking.h"
#include "answer/question/json.h"
#include "answer/text/figures.h"
#include "answer/text/plan_text.h"
#include "answer/text/software_text.h"
#include "answer/text/text.h"
#include "planner/advice/changes.h"

namespace dovetail::answer {
namespace {

using planner::RankedPlan;
using workflow::TaskKind;

/// Seconds from the first start to the last end of an iteration's tasks of one kind; 0 without such tasks.
double phase_seconds(const plan::Job& job, const predict::Estimate& estimate, workflow::TaskKind kind) {
  std::optional<base::Ticks> begin;
  base::Ticks end;
  for (std::size_t task = 0; task < job.workflow.tasks.size(); ++task) {
    if (job.workflow.tasks[task].kind != kind) continue;
    const plan::ActivityTime& time = estimate.timing.activities[task];
    begin = begin ? std::min(*begin, time.begin) : time.begin;
    end = std::max(end, time.end);
  }
  return begin ? base::seconds_of_ticks(end - *begin) : 0;
}

/// Max host memory of a node, in bytes.
std::int64_t max_host_bytes(const predict::Estimate& estimate) {
  std::int64_t max = 0;
  for (const predict::TaskMemory& memory : estimate.memory) max = std::max(max, memory.host);
  return max;
}

/// Whether any rule of the job takes time.
bool has_timed_rule(const plan::Job& job) {
  const std::vector<workflow::Task>& tasks = job.workflow.tasks;
  return std::any_of(tasks.begin(), tasks.end(),
                     [](const workflow::Task& task) { return task.time_per_sequence > base::Ticks(0); });
}

Json search_json(const planner::SearchRun& search) {
  return Json{{"seed", search.seed},
              {"chains", search.chains},
              {"iterations", search.iterations},
              {"stopped_by", pipeline::name_of(search.stopped_by)}};
}

Json phases_json(const plan::Job& job, const predict::Estimate& estimate) {
  const auto seconds = [&](TaskKind kind) { return json_seconds(phase_seconds(job, estimate, kind)); };
  Json object{{"generate", seconds(TaskKind::generate)},
              {"infer", seconds(TaskKind::infer)},
              {"train", seconds(TaskKind::train)}};
  if (has_timed_rule(job)) object["rule"] = seconds(TaskKind::rule);
  return object;
}

Json plan_json(const RankingAnswer& answer, std::size_t index) {
  const plan::Job& job = answer.scenario.job;
  const planner::RankedPlan& plan = answer.ranking.plans[index];
  const predict::Estimate& estimate = plan.estimate;
  const std::size_t task = planner::min_margin_task(estimate.memory);
  Json object{{"placement", name_of(plan.placement)},
              {"tie", index > 0 && index <= answer.ranking.ties},
              {"iteration_seconds", json_seconds(estimate.iteration_seconds)},
              {"samples_per_second", json_ratio(estimate.samples_per_second)},
              {"tokens_per_second_and_device", json_ratio(estimate.tokens_per_second)},
              {"gpu_hours", json_ratio(estimate.gpu_hours)}};
  if (plan.simulated) object["simulated_seconds"] = json_seconds(*plan.simulated);
  if (const auto gap = answer.ranking.gap(plan)) object["over_bound"] = json_ratio(*gap);
  if (estimate.price) object["price"] = json_ratio(*estimate.price);
  if (plan.plan.fusion.any()) object["fusion"] = fusion_json(job, estimate);
  object["phases"] = phases_json(job, estimate);
  object["device_memory"] = Json{{"bytes", estimate.memory[task].needed()},
                                 {"usable", estimate.memory[task].usable},
                                 {"task", job.workflow.tasks[task].name},
                                 {"host_bytes", max_host_bytes(estimate)}};
  add_plan(job, plan.plan, object);
  return object;
}

/// Adds placements without a plan, and inputs that would change the choice.
void add_absent_and_flips(const RankingAnswer& answer, Json& object) {
  for (const planner::AbsentPlacement& absent : answer.ranking.absent)
    object["absent"].push_back(Json{{"placement", name_of(absent.placement)}, {"why", absent.why}});
  for (const planner::Flip& flip : answer.flips)
    object["flips"].push_back(
        Json{{"input", flip.input}, {"factor", flip.factor}, {"plan", flip.plan}, {"gain", json_ratio(flip.gain)}});
  if (!answer.all_inputs_tried) object["flips_cut_short"] = true;
}

/// The alternatives, if several were tried.
Json alternatives_json(const RankingAnswer& answer) {
  Json all = Json::array();
  for (std::size_t i = 0; i < answer.alternatives.size(); ++i) {
    const TriedAlternative& tried = answer.alternatives[i];
    Json object{{"name", tried.name}, {"chosen", i == answer.chosen_alternative}};
    if (tried.seconds) object["iteration_seconds"] = json_seconds(*tried.seconds);
    if (!tried.rejection.empty()) object["why_not"] = tried.rejection;
    all.push_back(std::move(object));
  }
  return all;
}

bool is_any_simulated(const planner::Ranking& ranking) {
  return std::any_of(ranking.plans.begin(), ranking.plans.end(),
                     [](const RankedPlan& plan) { return plan.simulated.has_value(); });
}

/// Kinds of tasks with a column.
std::vector<TaskKind> phases_of(const plan::Job& job) {
  std::vector<TaskKind> kinds{TaskKind::generate, TaskKind::infer, TaskKind::train};
  if (has_timed_rule(job)) kinds.push_back(TaskKind::rule);
  return kinds;
}

std::vector<Column> columns_of(const RankingAnswer& answer) {
  std::vector<Column> columns{{"plan"}, {"placement", Align::left}, {"iteration"}};
  if (is_any_simulated(answer.ranking)) columns.push_back({"simulated"});
  for (const TaskKind kind : phases_of(answer.scenario.job)) columns.push_back({std::string(base::enum_name(kind))});
  for (const char* name : {"samples/s", "tokens/s/GPU", "GPU-h"}) columns.push_back({name});
  if (answer.scenario.job.cluster.price) columns.push_back({"cost"});
  for (const char* name : {"above bound", "peak memory", "usable"}) columns.push_back({name});
  columns.push_back({"during", Align::left});
  columns.push_back({"host memory"});
  return columns;
}

std::vector<std::string> row_of(const RankingAnswer& answer, std::size_t index) {
  const plan::Job& job = answer.scenario.job;
  const RankedPlan& plan = answer.ranking.plans[index];
  const predict::Estimate& estimate = plan.estimate;
  const std::size_t task = planner::min_margin_task(estimate.memory);
  const predict::TaskMemory& memory = estimate.memory[task];
  std::vector<std::string> row{fmt::format("{}{}", index + 1, index > 0 && index <= answer.ranking.ties ? "=" : ""),
                               std::string(name_of(plan.placement)), seconds_text(estimate.iteration_seconds)};
  if (is_any_simulated(answer.ranking)) row.push_back(plan.simulated ? seconds_text(*plan.simulated) : "-");
  for (const TaskKind kind : phases_of(job)) {
    const double seconds = phase_seconds(job, estimate, kind);
    row.push_back(seconds > 0 ? seconds_text(seconds) : "-");
  }
  row.push_back(fmt::format("{:.2f}", estimate.samples_per_second));
  row.push_back(fmt::format("{:.0f}", estimate.tokens_per_second));
  row.push_back(fmt::format("{:.3f}", estimate.gpu_hours));
  if (job.cluster.price) row.push_back(fmt::format("{:.2f}", *estimate.price));
  const auto gap = answer.ranking.gap(plan);
  row.push_back(gap ? percent(*gap) : "-");
  row.push_back(gibibytes(memory.needed()));
  row.push_back(gibibytes(memory.usable));
  row.push_back(job.workflow.tasks[task].name);
  const std::int64_t host = max_host_bytes(estimate);
  row.push_back(host > 0 ? gibibytes(host) : "-");
  return row;
}

Table plans_table(const RankingAnswer& answer) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t index = 0; index < answer.ranking.plans.size(); ++index) rows.push_back(row_of(answer, index));
  return {columns_of(answer), rows};
}

std::string flips_text(const RankingAnswer& answer) {
  if (answer.ranking.plans.size() < 2) return "";
  if (answer.flips.empty())
    return answer.all_inputs_tried
               ? "\nNo single input, changed by up to a factor of 2, makes another of these plans the best.\n"
               : "";
  std::string text = answer.all_inputs_tried ? "\nInputs that would change the choice:\n"
                                             : "\nInputs that would change the choice (not all were tried):\n";
  for (const planner::Flip& flip : answer.flips)
    text += fmt::format("  {} x {:g}: plan {} ({}) is {} faster\n", flip.input, flip.factor, flip.plan + 1,
                        name_of(answer.ranking.plans[flip.plan].placement), percent(flip.gain));
  return text;
}

/// Lower bounds on the iteration, without and with fusion.
std::string bound_text(const planner::Ranking& ranking) {
  std::string text = fmt::format("\nLower bound: {} unfused", seconds_text(ranking.bound));
  if (ranking.fused_bound) text += fmt::format(", {} fused", seconds_text(*ranking.fused_bound));
  return text + " (analytical model)\n";
}

/// Summary of the search.
std::string search_text(const planner::SearchRun& search) {
  return fmt::format("search: {} x {} iterations, seed {}, stopped by {}\ntook: {:.1f} s\n",
                     counted(search.chains, "chain"), search.iterations, search.seed,
                     pipeline::name_of(search.stopped_by), search.seconds);
}

/// One line per requested placement without a plan.
std::string absent_text(const planner::Ranking& ranking) {
  std::string text;
  for (const planner::AbsentPlacement& absent : ranking.absent)
    text += fmt::format("{}: {}\n", name_of(absent.placement), absent.why);
  return text;
}

Sections nearest_sections(const RankingAnswer& answer) {
  if (!answer.ranking.nearest) return "no plan found:\n";
  const planner::NearestPlan& nearest = *answer.ranking.nearest;
  return nearest_text(nearest, answer.scenario) + ":\n\n" + tasks_table(answer.scenario.job, nearest.plan);
}

/// Notes on the search and its limits.
std::string search_notes(const RankingAnswer& answer) {
  const planner::Ranking& ranking = answer.ranking;
  std::string text;
  if (!ranking.absent.empty()) text += "\n" + absent_text(ranking);
  if (ranking.bound > 0) text += bound_text(ranking);
  if (is_any_simulated(ranking)) text += "simulated plans are sorted by simulated time\n";
  if (answer.too_many_samples) text += "no plan was simulated: an iteration has too many samples\n";
  if (ranking.search) text += search_text(*ranking.search);
  text += cut_short_text(ranking);
  if (ranking.ties > 0) text += "=: tied with the first plan, within the mean prediction error\n";
  return text;
}

Sections first_plan(const RankingAnswer& answer) {
  const plan::Job& job = answer.scenario.job;
  const RankedPlan& first = answer.ranking.plans.front();
  Sections all = "\nFirst plan:\n" + tasks_table(job, first.plan);
  all += fusion_text(job, first.estimate) + profile_text(answer.scenario, first.plan);
  for (const std::string& reason : answer.ranking.not_fused) all += reason + "\n";
  return all;
}

/// Table of the alternatives, if several were tried.
Sections alternatives_sections(const RankingAnswer& answer) {
  Table table{.columns = {{"--way", Align::left}, {"variant", Align::left}, {"iteration"}, {"", Align::left}},
              .rows = {}};
  for (std::size_t i = 0; i < answer.alternatives.size(); ++i) {
    const TriedAlternative& tried = answer.alternatives[i];
    table.rows.push_back({fmt::format("{}{}", i + 1, i == answer.chosen_alternative ? "*" : ""), tried.name,
                          tried.seconds ? seconds_text(*tried.seconds) : "-",
                          clean_text(tried.rejection.substr(0, tried.rejection.find('\n')))});
  }
  return Sections(std::move(table)) +
         fmt::format("\nResults for \"{}\":\n\n", answer.alternatives[answer.chosen_alternative].name);
}

}  // namespace

std::string to_json(const RankingAnswer& answer) {
  const planner::Ranking& ranking = answer.ranking;
  const predict::Software& software = answer.scenario.software;
  Json object{{"format", "dovetail/ranking@2"},
              {"job", answer.scenario.job.name},
              {"efficiency", software.efficiency.name},
              {"error", json_ratio(software.efficiency.error)},
              {"conventions", software.conventions.name},
              {"bound_seconds", json_seconds(ranking.bound)},
              {"plans", Json::array()},
              {"absent", Json::array()},
              {"flips", Json::array()}};
  add_efficiency_reason(software, object);
  add_not_modelled(answer.scenario.job.not_modelled, object);
  for (std::size_t index = 0; index < ranking.plans.size(); ++index)
    object["plans"].push_back(plan_json(answer, index));
  if (ranking.fused_bound) object["fused_bound_seconds"] = json_seconds(*ranking.fused_bound);
  if (!ranking.plans.empty()) add_profile(answer.scenario, ranking.plans.front().plan, object);
  if (!ranking.not_fused.empty()) object["not_fused"] = ranking.not_fused;
  add_absent_and_flips(answer, object);
  if (const auto& search = ranking.search) {
    object["search"] = search_json(*search);
    object["timing"] = Json{{"seconds", json_seconds(search->seconds)},
                            {"evaluations_per_second", json_ratio(search->evaluations_per_second)}};
  }
  add_stopped_by(ranking, object);
  if (answer.open_lengths) object["open_lengths"] = open_lengths_json(*answer.open_lengths);
  if (!answer.alternatives.empty()) object["ways"] = alternatives_json(answer);
  if (ranking.nearest) object["nearest"] = nearest_json(answer.scenario.job, *ranking.nearest);
  return json_text(object);
}

Sections sections(const RankingAnswer& answer) {
  Sections all = job_line(answer.scenario.job) + "\n" + assumptions_text(answer.scenario) + "\n";
  if (!answer.alternatives.empty()) all += alternatives_sections(answer);
  if (answer.ranking.plans.empty())
    return all + nearest_sections(answer) + ("\n" + absent_text(answer.ranking)) +
           not_modelled_text(answer.scenario.job.not_modelled);
  all += plans_table(answer) + search_notes(answer) + first_plan(answer) + flips_text(answer);
  if (answer.open_lengths) all += open_lengths_sections(*answer.open_lengths);
  return all + not_modelled_text(answer.scenario.job.not_modelled);
}

}  // namespace dovetail::answer
