#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "answer/plans/plan_tables.h"
#include "answer/plans/ranking.h"
#include "answer/plans/ranking_figures.h"
#include "answer/words/amounts.h"
#include "answer/words/figures.h"
#include "answer/words/fusion_words.h"
#include "answer/words/plan_words.h"
#include "answer/words/profile_words.h"
#include "answer/words/software_words.h"
#include "answer/words/text.h"
#include "planner/advice/changes.h"

namespace dovetail::answer {
namespace {

using planner::RankedPlan;
using workflow::TaskKind;

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
  for (const char* name : {"over bound", "peak memory", "usable"}) columns.push_back({name});
  columns.push_back({"during", Align::left});
  columns.push_back({"host memory"});
  return columns;
}

std::vector<std::string> row_of(const RankingAnswer& answer, std::size_t index) {
  const plan::Job& job = answer.scenario.job;
  const RankedPlan& plan = answer.ranking.plans[index];
  const predict::Estimate& estimate = plan.estimate;
  const std::size_t task = planner::fullest_task(estimate.memory);
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
    return answer.all_inputs_tried ? "\nNo single input, halved or doubled, makes another of these plans the best.\n"
                                   : "";
  std::string text = answer.all_inputs_tried ? "\nInputs that would change the choice:\n"
                                             : "\nInputs that would change the choice, of those tried in time:\n";
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

/// Summary of the search. The iterations and the seed reproduce it.
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
  return nearest_words(nearest, answer.scenario) + ":\n\n" + tasks_table(answer.scenario.job, nearest.plan);
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

/// Ways to run the job, if several were tried.
Sections ways_sections(const RankingAnswer& answer) {
  Table table{.columns = {{"way", Align::left}, {"", Align::left}, {"iteration"}, {"", Align::left}}, .rows = {}};
  for (std::size_t i = 0; i < answer.ways.size(); ++i) {
    const TriedWay& tried = answer.ways[i];
    table.rows.push_back({fmt::format("{}{}", i + 1, i == answer.chosen_way ? "*" : ""), tried.name,
                          tried.seconds ? seconds_text(*tried.seconds) : "-",
                          clean_text(tried.refusal.substr(0, tried.refusal.find('\n')))});
  }
  return Sections(std::move(table)) + fmt::format("\nResults for \"{}\":\n\n", answer.ways[answer.chosen_way].name);
}

}  // namespace

Sections sections(const RankingAnswer& answer) {
  Sections all = job_line(answer.scenario.job) + "\n" + assumptions_text(answer.scenario) + "\n";
  if (!answer.ways.empty()) all += ways_sections(answer);
  if (answer.ranking.plans.empty())
    return all + nearest_sections(answer) + ("\n" + absent_text(answer.ranking)) +
           not_modelled_text(answer.scenario.job.not_modelled);
  all += plans_table(answer) + search_notes(answer) + first_plan(answer) + flips_text(answer);
  if (answer.open_lengths) all += open_lengths_sections(*answer.open_lengths);
  return all + not_modelled_text(answer.scenario.job.not_modelled);
}

}  // namespace dovetail::answer
