// dovetail show: schedules as Gantt charts in the terminal.
#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/load.h"
#include "cli/progress_line.h"
#include "report/schedule/terminal_gantt.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::cli {
namespace {

constexpr int max_columns = 10'000;

struct Arguments {
  std::vector<std::string> files;
  std::optional<std::string> solver;
  std::optional<std::string> problem;
  std::optional<std::string> format;
  SearchArguments search;
  ColorChoice color = ColorChoice::automatic;
  int columns = 0;  ///< 0: as wide as the terminal
  int rows = 0;     ///< 0: all devices
};

void draw(const pipeline::Schedule& schedule, const std::string& title, const Arguments& arguments) {
  report::TerminalStyle style;
  style.columns = arguments.columns > 0 ? arguments.columns : chart_columns();
  style.color = use_color(arguments.color);
  style.rows = arguments.rows;
  print_drawn(report::render_terminal_gantt(timeline::schedule_timeline(schedule.problem, pipeline::evaluate(schedule), title), style));
}

base::Error does_not_fit(std::string_view what, const std::vector<pipeline::CapacityExcess>& excess) {
  return {base::Failure::infeasible, {}, 0, 0, fmt::format("{}:\n{}", what, excess_table(excess))};
}

/// Draws the schedule that a solver makes of a problem.
base::Result<int> show_solved(const std::string& name, const Arguments& arguments) {
  DOVETAIL_TRY(const fuse::Solver* const solver, solver_named(*arguments.solver));
  DOVETAIL_TRY(const NamedProblem named, load_problem(name));
  if (const auto impossible = fuse::find_impossible(named.problem, arguments.search.memory_cap); !impossible.empty()) {
    return does_not_fit(impossible_message, impossible);
  }
  const fuse::Bounds bounds = fuse::bounds_of(named.problem);
  fuse::SolveOptions options = to_solve_options(arguments.search);
  options.cancellation = &stop_on_interrupt();
  auto line = std::make_unique<ProgressLine>(named.name, bounds.makespan, named.problem.time_unit);
  options.on_progress = [&line](const fuse::Progress& progress) { line->update(progress); };
  DOVETAIL_TRY(const Solved solved, fuse::run_solver(*solver, named.problem, bounds, options));
  line.reset();
  if (!solved.excess.empty()) {
    return does_not_fit(fmt::format("no schedule that {} found fits the memory", solver->name), solved.excess);
  }
  draw(solved.schedule, fmt::format("{} ({})", named.name, describe(solved.solution.solver)), arguments);
  return solved.solution.stopped_by == pipeline::StoppedBy::interrupt || stop_on_interrupt().requested() ? exit_interrupted : exit_done;
}

base::Result<int> show_file(const std::string& path, const Arguments& arguments) {
  if (is_instance(path)) {
    return base::bad_input(fmt::format("'{0}' is a problem, not a schedule; say how to make one: dovetail show {0} --solver {1}", path,
                                       default_solver().name));
  }
  std::optional<ScheduleFormat> forced;
  if (arguments.format) {
    DOVETAIL_TRY(forced, format_to_read(*arguments.format));
  }
  DOVETAIL_TRY(const LoadedSchedule loaded, load_valid_schedule(path, forced, arguments.problem));
  draw(loaded.file.schedule, loaded.path, arguments);
  return exit_done;
}

base::Result<int> run(const Arguments& arguments) {
  if (arguments.solver && arguments.problem)
    return base::bad_input("--problem belongs to a schedule file; with --solver the problem is the argument");
  for (std::size_t i = 0; i < arguments.files.size(); ++i) {
    if (i > 0) print("\n");
    DOVETAIL_TRY(const int code, arguments.solver ? show_solved(arguments.files[i], arguments) : show_file(arguments.files[i], arguments));
    if (code != exit_done) return code;
  }
  return exit_done;
}

}  // namespace

void add_show(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      add_command(program, "show", "draw schedules in the terminal", "  dovetail show schedule.json\n  dovetail show exp5 --solver greedy");
  add_positional_list(*command, "FILE", arguments->files,
                      "schedule files ('-': standard input); with --solver: problems or bundled instances");
  add_text_option(*command, "--solver", arguments->solver, "SOLVER", "take FILE as a problem, and draw what this solver makes of it");
  add_text_option(*command, "--problem", arguments->problem, "PROBLEM", "problem that FILE is a schedule of (default: as the file says)");
  add_text_option(*command, "--format", arguments->format, read_formats, "format of FILE (default: told from its content)");
  add_color_option(*command, arguments->color);
  add_count_option(*command, "--columns", arguments->columns, report::min_gantt_columns, max_columns,
                   "width of the chart (default: COLUMNS, else the terminal's, else 80)");
  add_count_option(*command, "--rows", arguments->rows, 1, pipeline::max_device_count, "most devices to draw (default: all)");
  add_search_options(*command, arguments->search);
  set_action(*command, action, [arguments] { return run(*arguments); });
}

}  // namespace dovetail::cli
