#include <fmt/core.h>

#include "answer/schedules/comparison.h"
#include "answer/schedules/schedule_question.h"
#include "answer/schedules/solved_json.h"
#include "answer/text/figures.h"

namespace dovetail::answer {
namespace {

Json row_json(const ComparisonAnswer& answer, const ComparedSolver& row) {
  const fuse::Solved& solved = row.solved;
  const pipeline::Evaluation& evaluation = solved.solution.evaluation;
  const base::TimeUnit unit = solved.schedule.problem.time_unit;
  Json object{{"solver", row.solver}, {"made_by", solver_json(solved.solution.solver)}};
  if (solved.solution.stopped_by) object["stopped_by"] = pipeline::name_of(*solved.solution.stopped_by);
  if (solved.solution.other_layout) object["other_layout"] = *solved.solution.other_layout;
  object["fits"] = solved.excess.empty();
  if (!solved.excess.empty()) object["excess"] = excess_json(solved.excess);
  object["makespan"] = json_time(evaluation.makespan, unit);
  object["bound"] = json_time(solved.bounds.makespan, unit);
  object["gap"] = json_ratio(gap(evaluation.makespan, solved.bounds.makespan));
  const auto faster = answer.speed_up(row);
  object["speed_up"] = faster ? json_ratio(*faster) : Json(nullptr);
  object["peak_activation"] = json_memory(evaluation.peak_activation);
  object["bubbles"] = json_ratio(pipeline::bubble_rate(evaluation));
  object["longest_device_span"] = json_time(pipeline::max_device_span(evaluation), unit);
  object["varied"] = Json::array();
  for (std::size_t i = 0; i < variations.size(); ++i)
    object["varied"].push_back(variation_json(variations[i], row.varied[i], unit));
  return object;
}

/// "greedy"; "auto: annealing" if the solver delegated; with an asterisk if the layout differs from the problem's.
std::string row_name(const ComparedSolver& row) {
  const fuse::Solution& solution = row.solved.solution;
  std::string name = row.solver;
  if (solution.solver.name != row.solver) name += ": " + solution.solver.name;
  return solution.other_layout ? name + " *" : name;
}

std::vector<std::string> cells_of(const ComparisonAnswer& answer, const ComparedSolver& row) {
  const fuse::Solved& solved = row.solved;
  const pipeline::Evaluation& evaluation = solved.solution.evaluation;
  const base::TimeUnit unit = solved.schedule.problem.time_unit;
  const auto faster = answer.speed_up(row);
  std::vector<std::string> cells{row_name(row),
                                 base::format_time(evaluation.makespan, unit),
                                 percent(gap(evaluation.makespan, solved.bounds.makespan)),
                                 faster ? fmt::format("{:.2f}x", *faster) : "-",
                                 base::format_memory(evaluation.peak_activation),
                                 percent(pipeline::bubble_rate(evaluation))};
  for (const fuse::Variation& varied : row.varied) {
    cells.push_back(format_thousandths_rounded(varied.median_thousandths, unit));
    cells.push_back(format_thousandths_rounded(varied.percentile_95_thousandths, unit));
  }
  cells.push_back(fmt::format("{:.2f}", solved.seconds));
  cells.push_back(
      solved.excess.empty() ? "" : fmt::format("does not fit (by {})", base::format_memory(max_excess(solved.excess))));
  return cells;
}

Table table_of(const ComparisonAnswer& answer) {
  Table table{{{"solver", Align::left}, {"makespan"}, {"gap"}, {"speedup"}, {"peak"}, {"bubbles"}}, {}};
  for (const int thousandths : variations) {
    table.columns.push_back({fmt::format("±{}% median", thousandths / 10)});
    table.columns.push_back({"95th pct."});
  }
  table.columns.push_back({"seconds"});
  table.columns.push_back({"", Align::left});
  for (const ComparedSolver& row : answer.rows) table.rows.push_back(cells_of(answer, row));
  return table;
}

/// Remarks below the table.
std::string remarks(const ComparisonAnswer& answer) {
  const ScheduleQuestion& question = answer.question;
  const base::TimeUnit unit = question.named.problem.time_unit;
  std::string text;
  for (const ComparedSolver& row : answer.rows) {
    const fuse::Solution& solution = row.solved.solution;
    if (!solution.other_layout) continue;
    text += fmt::format("* {}: different layout, {}; its bound is {}\n", row.solver, *solution.other_layout,
                        base::format_time(row.solved.bounds.makespan, unit));
  }
  for (const InapplicableSolver& each : answer.inapplicable) text += fmt::format("{}\n", each.why);
  text +=
      fmt::format("bounds: makespan {}, peak activation {} (for any schedule)\n",
                  time_with_unit(question.bounds.makespan, unit), base::format_memory(question.bounds.peak_activation));
  if (answer.baseline)
    text += fmt::format("speedup: relative to {} ({})\n", answer.baseline_name, time_with_unit(*answer.baseline, unit));
  if (!answer.complete) text += "stopped: missing solvers were not run to the end\n";
  return text;
}

}  // namespace

std::string to_json(const ComparisonAnswer& answer) {
  const base::TimeUnit unit = answer.question.named.problem.time_unit;
  Json object{
      {"format", "dovetail/compare@1"}, {"problem", answer.question.named.name}, {"time_unit", base::name_of(unit)}};
  add_question(answer.question, object);
  add_bounds(answer.question, object);
  object["baseline"] = Json(nullptr);
  if (answer.baseline)
    object["baseline"] = Json{{"solver", answer.baseline_name}, {"makespan", json_time(*answer.baseline, unit)}};
  object["draws"] = answer.draws;
  object["rows"] = Json::array();
  object["not_applicable"] = Json::array();
  object["interrupted"] = !answer.complete;
  Json seconds = Json::object();
  for (const ComparedSolver& row : answer.rows) {
    object["rows"].push_back(row_json(answer, row));
    seconds[row.solver] = json_seconds(row.solved.seconds);
  }
  for (const InapplicableSolver& each : answer.inapplicable)
    object["not_applicable"].push_back({{"solver", each.solver}, {"why", each.why}});
  object["timing"] = Json{{"seconds", seconds}};
  return json_text(object);
}

Sections sections(const ComparisonAnswer& answer) { return Sections(table_of(answer)) + ("\n" + remarks(answer)); }

}  // namespace dovetail::answer
