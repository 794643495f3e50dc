// dovetail show: draws schedules as Gantt charts in the terminal.
#include <fmt/core.h>

#include <memory>

#include "answer/schedules/input_files.h"
#include "answer/schedules/schedule.h"
#include "answer/schedules/schedule_question.h"
#include "cli/options.h"
#include "cli/question_progress.h"
#include "report/schedule/gantt.h"
#include "report/text/table.h"
#include "timeline/schedule_timeline.h"

namespace dovetail::cli {
namespace {

constexpr int max_width = 10'000;

struct ShowArguments {
  std::vector<std::string> files;
  std::optional<std::string> solver;
  std::optional<answer::Input> problem;
  std::optional<std::string> format;
  answer::ScheduleSearchOptions search;
  ColorChoice color = ColorChoice::automatic;
  int columns = 0;  ///< 0: width of the terminal
  int rows = 0;     ///< 0: all devices
};

void draw(const pipeline::Schedule& schedule, const std::string& title, const ShowArguments& arguments) {
  report::TerminalStyle style;
  style.columns = arguments.columns > 0 ? arguments.columns : chart_columns();
  style.color = use_color(arguments.color);
  style.rows = arguments.rows;
  print_drawn(report::render_terminal_gantt(
      timeline::schedule_timeline(schedule.problem, pipeline::evaluate(schedule), title), style));
}

base::Error does_not_fit(std::string_view what, const std::vector<pipeline::CapacityExcess>& excess) {
  return {
      base::Failure::infeasible, {}, 0, 0, fmt::format("{}:\n{}", what, report::text_of(answer::excess_table(excess)))};
}

/// Draws the schedule that the solver finds for a problem.
base::Result<int> show_solved(const std::string& name, const ShowArguments& arguments) {
  const answer::ScheduleRequest request{.problem = {name}, .solver = *arguments.solver, .search = arguments.search};
  DOVETAIL_TRY(const answer::ScheduleAnswer answer, answer_to(request, "show", {}, PlainLines::every_few_seconds));
  if (answer.impossible) return does_not_fit(answer::impossible_message, answer.impossible->excess);
  const fuse::Solved& solved = *answer.solved;
  if (answer.outcome == answer::Outcome::infeasible)
    return does_not_fit(fmt::format("no schedule found by {} fits in memory", answer.solver), solved.excess);
  draw(solved.schedule, fmt::format("{} ({})", answer.question.named.name, answer::describe(solved.solution.solver)),
       arguments);
  return exit_code_of(answer.outcome);
}

base::Result<int> show_file(const std::string& path, const ShowArguments& arguments) {
  if (answer::is_instance({path}))
    return base::bad_input(
        fmt::format("'{0}' is a problem, not a schedule; to schedule it, use dovetail show {0} --solver {1}", path,
                    answer::default_solver().name));
  DOVETAIL_TRY(const auto forced, answer::format_to_read(arguments.format));
  DOVETAIL_TRY(const answer::LoadedSchedule loaded,
               answer::load_valid_schedule({path}, forced, arguments.problem, note_callbacks()));
  draw(loaded.file.schedule, loaded.path, arguments);
  return exit_done;
}

base::Result<int> run_show(const ShowArguments& arguments) {
  if (arguments.solver && arguments.problem)
    return base::bad_input("--problem and --solver cannot be combined: with --solver, FILE is the problem");
  for (std::size_t i = 0; i < arguments.files.size(); ++i) {
    if (i > 0) print("\n");
    DOVETAIL_TRY(const int code, arguments.solver ? show_solved(arguments.files[i], arguments)
                                                  : show_file(arguments.files[i], arguments));
    if (code != exit_done) return code;
  }
  return exit_done;
}

}  // namespace

void add_show(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<ShowArguments>();
  CLI::App* command = add_command(program, "show", "draw schedules in the terminal",
                                  "  dovetail show exp5 --solver greedy\n  dovetail schedule exp5 --solver greedy -o "
                                  "schedule.json\n  dovetail show schedule.json");
  add_positional_list(*command, "FILE", arguments->files, "schedule files ('-' for stdin); with --solver, problems");
  add_text_option(*command, "--solver", arguments->solver, "SOLVER",
                  "solver for FILE, which is then a problem or a bundled instance");
  add_problem_option(*command, arguments->problem, "problem of the schedule (default: the one in the file)");
  add_text_option(*command, "--format", arguments->format, answer::read_formats,
                  "format of FILE (default: detected from its content)");
  add_color_option(*command, arguments->color);
  add_count_option(*command, "--columns", arguments->columns, report::min_gantt_columns, max_width,
                   "chart width (default: COLUMNS, else the terminal width, else 80)");
  add_count_option(*command, "--rows", arguments->rows, 1, pipeline::max_device_count,
                   "maximum number of devices to draw (default: all)");
  add_request(*command, arguments->search);
  set_action(*command, action, [arguments] { return run_show(*arguments); });
}

}  // namespace dovetail::cli
