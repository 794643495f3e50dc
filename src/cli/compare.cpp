// dovetail compare: one table of all solvers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "answer/question/json.h"
#include "answer/words/figures.h"
#include "answer/words/text.h"
#include "cli/answer.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/load.h"
#include "cli/progress_line.h"
#include "fuse/solution/variation.h"
#include "fuse/solver.h"
#include "report/text/table.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  std::string problem;
  std::vector<std::string> solvers;
  bool all = false;
  SearchArguments search;
  int draws = fuse::VariationOptions{}.draws;
  bool json = false;
};

/// The variations of durations that the table shows, in thousandths.
constexpr std::array variations{50, 100};

struct Row {
  std::string_view solver;  ///< the one that was run; the record of its answer may name one that it chose
  Solved solved;
  std::array<fuse::Variation, variations.size()> varied;
};

struct Refusal {
  std::string_view solver;
  std::string why;
};

struct Comparison {
  NamedProblem named;
  fuse::Bounds bounds;
  std::optional<base::Ticks> baseline;  ///< makespan that speed-ups are counted against
  std::string_view baseline_name;
  std::vector<Row> rows;
  std::vector<Refusal> refusals;
  bool interrupted = false;
};

/// The solvers to run: those named, else those that the registry has for comparisons.
base::Result<std::vector<const fuse::Solver*>> chosen_solvers(const Arguments& arguments) {
  std::vector<const fuse::Solver*> chosen;
  for (const std::string& name : arguments.solvers) {
    DOVETAIL_TRY(const fuse::Solver* const solver, solver_named(name));
    if (std::find(chosen.begin(), chosen.end(), solver) == chosen.end()) chosen.push_back(solver);
  }
  if (!chosen.empty()) return chosen;
  for (const fuse::Solver& solver : fuse::solvers()) {
    if (solver.in_compare || arguments.all) chosen.push_back(&solver);
  }
  return chosen;
}

Row make_row(std::string_view solver, Solved solved, const Arguments& arguments, const fuse::SolveOptions& options) {
  Row row{solver, std::move(solved), {}};
  fuse::VariationOptions vary;
  vary.draws = arguments.draws;
  vary.seed = options.seed;
  vary.threads = options.threads;
  vary.cancellation = options.cancellation;
  for (std::size_t i = 0; i < variations.size(); ++i) {
    vary.thousandths = variations[i];
    row.varied[i] = fuse::vary_durations(row.solved.solution.graph, row.solved.solution.order, vary);
  }
  return row;
}

/// The makespan that speed-ups are counted against: of the row that is there already, or of a run of the baseline on its own.
void find_baseline(Comparison& comparison, const fuse::SolveOptions& options) {
  for (const fuse::Solver& solver : fuse::solvers()) {
    if (!solver.is_baseline) continue;
    comparison.baseline_name = solver.name;
    for (const Row& row : comparison.rows) {
      if (row.solver == solver.name) comparison.baseline = row.solved.solution.evaluation.makespan;
    }
    if (comparison.baseline) return;
    const auto solved = fuse::run_solver(solver, comparison.named.problem, comparison.bounds, options);
    if (solved.ok()) comparison.baseline = solved->solution.evaluation.makespan;
  }
}

Comparison run_solvers(NamedProblem named, const std::vector<const fuse::Solver*>& chosen, const Arguments& arguments) {
  Comparison comparison;
  comparison.bounds = fuse::bounds_of(named.problem);
  comparison.named = std::move(named);
  fuse::SolveOptions options = to_solve_options(arguments.search);
  const parallel::Cancellation stop(&stop_on_interrupt(), with_patience(options.time_limit_seconds));
  options.cancellation = &stop;
  ProgressLine line("", comparison.bounds.makespan, comparison.named.problem.time_unit);
  options.on_progress = [&line](const fuse::Progress& progress) { line.update(progress); };
  for (std::size_t i = 0; i < chosen.size() && !options.cancellation->requested(); ++i) {
    line.set_label(fmt::format("{} ({} of {})", chosen[i]->name, i + 1, chosen.size()));
    line.update("running");
    // Solvers share what is left of the time.
    if (const auto left = stop.seconds_left()) options.time_limit_seconds = *left / static_cast<double>(chosen.size() - i);
    auto solved = fuse::run_solver(*chosen[i], comparison.named.problem, comparison.bounds, options);
    if (!solved.ok() && options.cancellation->requested()) break;
    if (!solved.ok()) {
      comparison.refusals.push_back({chosen[i]->name, solved.error().message});
      continue;
    }
    line.update(answer::counted(arguments.draws, "draw") + " of varied durations");
    Row row = make_row(chosen[i]->name, std::move(*solved), arguments, options);
    // Figures of a few draws only would stand beside those of all.
    if (!options.cancellation->requested()) comparison.rows.push_back(std::move(row));
  }
  if (!options.cancellation->requested()) find_baseline(comparison, options);
  comparison.interrupted = options.cancellation->requested();
  return comparison;
}

std::optional<double> speed_up(const Comparison& comparison, const Row& row) {
  const base::Ticks makespan = row.solved.solution.evaluation.makespan;
  if (!comparison.baseline || makespan.count() == 0) return std::nullopt;
  return static_cast<double>(comparison.baseline->count()) / static_cast<double>(makespan.count());
}

/// "greedy", "auto: annealing" where it chose another, with an asterisk where it is of another layout.
std::string row_name(const Row& row) {
  const fuse::Solution& solution = row.solved.solution;
  std::string name(row.solver);
  if (solution.solver.name != row.solver) name += ": " + solution.solver.name;
  return solution.other_layout ? name + " *" : name;
}

std::string table(const Comparison& comparison) {
  std::vector<report::Column> columns{{"solver", report::Align::left}, {"makespan"}, {"gap"}, {"speed-up"}, {"peak"}, {"bubbles"}};
  for (const int thousandths : variations) {
    columns.push_back({fmt::format("±{}% median", thousandths / 10)});
    columns.push_back({"95th"});
  }
  columns.push_back({"seconds"});
  columns.push_back({"", report::Align::left});
  std::vector<std::vector<std::string>> rows;
  for (const Row& row : comparison.rows) {
    const Solved& solved = row.solved;
    const pipeline::Evaluation& evaluation = solved.solution.evaluation;
    const base::TimeUnit unit = solved.schedule.problem.time_unit;
    const auto faster = speed_up(comparison, row);
    std::vector<std::string> cells{row_name(row),
                                   base::format_time(evaluation.makespan, unit),
                                   answer::percent(answer::gap(evaluation.makespan, solved.bounds.makespan)),
                                   faster ? fmt::format("{:.2f}x", *faster) : "-",
                                   base::format_memory(evaluation.peak_activation),
                                   answer::percent(pipeline::bubble_rate(evaluation))};
    for (const fuse::Variation& varied : row.varied) {
      cells.push_back(answer::format_thousandths_rounded(varied.median_thousandths, unit));
      cells.push_back(answer::format_thousandths_rounded(varied.percentile_95_thousandths, unit));
    }
    cells.push_back(fmt::format("{:.2f}", solved.seconds));
    cells.push_back(solved.excess.empty() ? "" : fmt::format("does not fit (by {})", base::format_memory(max_excess(solved.excess))));
    rows.push_back(std::move(cells));
  }
  return report::render_table(columns, rows);
}

/// What stands under the table.
std::string remarks(const Comparison& comparison) {
  const base::TimeUnit unit = comparison.named.problem.time_unit;
  std::string text;
  for (const Row& row : comparison.rows) {
    const fuse::Solution& solution = row.solved.solution;
    if (!solution.other_layout) continue;
    text += fmt::format("* {}: another layout, {}; its own bound is {}\n", row.solver, *solution.other_layout,
                        base::format_time(row.solved.bounds.makespan, unit));
  }
  for (const Refusal& refusal : comparison.refusals) text += fmt::format("{}\n", refusal.why);
  text += fmt::format("bounds: makespan {}, peak activation {} (of any schedule)\n",
                      answer::time_with_unit(comparison.bounds.makespan, unit), base::format_memory(comparison.bounds.peak_activation));
  if (comparison.baseline) {
    text += fmt::format("speed-up: over {}, {}\n", comparison.baseline_name, answer::time_with_unit(*comparison.baseline, unit));
  }
  if (comparison.interrupted) text += "stopped: what is missing was not run\n";
  return text;
}

answer::Json row_json(const Comparison& comparison, const Row& row) {
  const Solved& solved = row.solved;
  const pipeline::Evaluation& evaluation = solved.solution.evaluation;
  const base::TimeUnit unit = solved.schedule.problem.time_unit;
  answer::Json object{{"solver", row.solver}, {"made_by", to_json(solved.solution.solver)}};
  if (solved.solution.stopped_by) object["stopped_by"] = pipeline::name_of(*solved.solution.stopped_by);
  if (solved.solution.other_layout) object["other_layout"] = *solved.solution.other_layout;
  object["fits"] = solved.excess.empty();
  if (!solved.excess.empty()) object["excess"] = excess_json(solved.excess);
  object["makespan"] = answer::json_time(evaluation.makespan, unit);
  object["bound"] = answer::json_time(solved.bounds.makespan, unit);
  object["gap"] = answer::json_ratio(answer::gap(evaluation.makespan, solved.bounds.makespan));
  const auto faster = speed_up(comparison, row);
  object["speed_up"] = faster ? answer::json_ratio(*faster) : answer::Json(nullptr);
  object["peak_activation"] = answer::json_memory(evaluation.peak_activation);
  object["bubbles"] = answer::json_ratio(pipeline::bubble_rate(evaluation));
  object["longest_device_span"] = answer::json_time(pipeline::max_device_span(evaluation), unit);
  object["varied"] = answer::Json::array();
  for (std::size_t i = 0; i < variations.size(); ++i) {
    object["varied"].push_back(
        {{"by", answer::json_ratio(variations[i] / 1000.0)},
         {"median", answer::json_number(answer::format_thousandths(row.varied[i].median_thousandths, unit))},
         {"percentile_95", answer::json_number(answer::format_thousandths(row.varied[i].percentile_95_thousandths, unit))}});
  }
  return object;
}

answer::Json to_json(const Comparison& comparison, const Arguments& arguments) {
  const base::TimeUnit unit = comparison.named.problem.time_unit;
  answer::Json object{{"format", "dovetail/compare@1"}, {"problem", comparison.named.name}, {"time_unit", base::name_of(unit)}};
  add_request(object, to_solve_options(arguments.search), unit);
  object["bounds"] = answer::Json{{"makespan", answer::json_time(comparison.bounds.makespan, unit)},
                                  {"peak_activation", answer::json_memory(comparison.bounds.peak_activation)}};
  object["baseline"] = answer::Json(nullptr);
  if (comparison.baseline) {
    object["baseline"] = answer::Json{{"solver", comparison.baseline_name}, {"makespan", answer::json_time(*comparison.baseline, unit)}};
  }
  object["draws"] = arguments.draws;
  object["rows"] = answer::Json::array();
  object["not_applicable"] = answer::Json::array();
  object["interrupted"] = comparison.interrupted;
  answer::Json seconds = answer::Json::object();
  for (const Row& row : comparison.rows) {
    object["rows"].push_back(row_json(comparison, row));
    seconds[std::string(row.solver)] = answer::json_seconds(row.solved.seconds);
  }
  for (const Refusal& refusal : comparison.refusals) object["not_applicable"].push_back({{"solver", refusal.solver}, {"why", refusal.why}});
  object["timing"] = answer::Json{{"seconds", seconds}};
  return object;
}

base::Error none_applicable(const Comparison& comparison) {
  std::string text = "none of the solvers is applicable:";
  for (const Refusal& refusal : comparison.refusals) text += "\n  " + refusal.why;
  return base::bad_input(std::move(text));
}

base::Result<int> run(const Arguments& arguments) {
  DOVETAIL_TRY(const std::vector<const fuse::Solver*> chosen, chosen_solvers(arguments));
  DOVETAIL_TRY(NamedProblem named, load_problem(arguments.problem));
  const Comparison comparison = run_solvers(std::move(named), chosen, arguments);
  if (comparison.rows.empty() && !comparison.interrupted) return none_applicable(comparison);
  if (arguments.json) {
    print_json(answer::json_text(to_json(comparison, arguments)));
  } else {
    print(table(comparison) + "\n" + remarks(comparison));
  }
  return stop_on_interrupt().requested() ? exit_interrupted : exit_done;
}

}  // namespace

void add_compare(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "compare", "compare the schedules of all solvers",
                                  "  dovetail compare exp5\n  dovetail compare problem.yaml --solver greedy --solver auto --time-limit 1m");
  add_positional(*command, "PROBLEM", arguments->problem, "problem file, '-' for standard input, or a bundled instance");
  add_name_list(*command, "--solver", arguments->solvers, "SOLVER", "run this one only; may be repeated");
  add_flag(*command, "--all", arguments->all, "run every solver, those too that are not shown otherwise");
  exclude_option(*command, "--all", "--solver");
  add_objective_options(*command, arguments->search, false);
  add_search_options(*command, arguments->search);
  add_count_option(*command, "--draws", arguments->draws, 1, 1'000'000,
                   fmt::format("draws of varied durations (default {})", arguments->draws));
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run(*arguments); });
}

}  // namespace dovetail::cli
