// dovetail schedule: one schedule of a problem.
#include <fmt/format.h>

#include <memory>

#include "answer/words/text.h"
#include "cli/arguments.h"
#include "cli/best_file.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/pareto.h"
#include "cli/processes.h"
#include "cli/progress_line.h"
#include "cli/schedule_report.h"
#include "parallel/agreement.h"
#include "pipeline/formats/schedule_file.h"
#include "pipeline/problem/problem_file.h"
#include "pipeline/schedule/validate.h"

namespace dovetail::cli {
namespace {

/// More than any front has.
constexpr int max_picked = 1000;

struct Arguments {
  std::string problem;
  std::string solver{default_solver().name};
  SearchArguments search;
  MpiArguments mpi;
  std::optional<std::string> deadline;  ///< in the problem's unit
  std::optional<std::string> from;
  int pick = 0;  ///< of the front, from 1; 0: the whole front
  std::optional<std::string> output;
  std::optional<std::string> format;
  bool json = false;
};

/// Where the best so far is written to while several processes work on it.
std::optional<BestFile> best_file(const Arguments& arguments, const Request& request) {
  if (!request.options.exchange || !request.format || !can_be_rewritten(*arguments.output)) return std::nullopt;
  return BestFile();
}

/// With the bound on the makespan only, and without what stopped the search. REQUIRES: it breaks no rule.
pipeline::Schedule schedule_so_far(const fuse::Solution& solution, const fuse::Bounds& bounds) {
  pipeline::Schedule schedule = pipeline::to_schedule(solution.problem, solution.graph, solution.evaluation);
  schedule.claims.bound_makespan = bounds.makespan;
  schedule.claims.optimal_makespan = solution.evaluation.makespan == bounds.makespan;
  schedule.claims.solver = solution.solver;
  return schedule;
}

base::Result<Run> solve_with_progress(const Arguments& arguments, const Request& request) {
  fuse::SolveOptions options = request.options;
  options.start = request.start ? &*request.start : nullptr;
  const parallel::Cancellation stop(&stop_on_interrupt(), with_patience(options.time_limit_seconds));
  options.cancellation = &stop;
  const pipeline::Problem& problem = request.named.problem;
  ProgressLine line(request.named.name, request.bounds.makespan, problem.time_unit);
  line.show_peak_bound(problem);
  std::optional<BestFile> file = best_file(arguments, request);
  options.on_progress = [&](const fuse::Progress& progress) {
    line.update(progress);
    if (file) file->catch_up();
  };
  const auto take_better = [&](const fuse::Solution& solution) {
    const bool fits = pipeline::find_excess(problem, solution.evaluation, options.memory_cap).empty();
    if (!fits || !meets_deadline(request, solution)) return;
    file->take([&, schedule = schedule_so_far(solution, request.bounds)] {
      DOVETAIL_ASSERT(!pipeline::validate(schedule).has_value());
      (void)write_schedule(schedule, request.named.name, *request.format, *arguments.output);
    });
  };
  if (file) options.on_better = take_better;
  DOVETAIL_TRY(Solved solved, fuse::run_solver(*request.solver, problem, request.bounds, options));
  return Run{std::move(solved), line.iterations_per_second()};
}

/// Options that do not go together.
base::Status check_combination(const Arguments& arguments) {
  const bool pareto = arguments.search.pareto;
  if (arguments.from && *arguments.from == "-" && arguments.problem == "-")
    return base::bad_input("the problem and the schedule to start from cannot both be read from standard input");
  if (arguments.mpi.asked && (arguments.problem == "-" || (arguments.from && *arguments.from == "-")))
    return base::bad_input("with --mpi every process reads the problem and the schedule, and only one has standard input; name files");
  if (arguments.pick > 0 && !pareto) return base::bad_input("--pick chooses from a front: it needs --objective pareto");
  if (arguments.pick > 0 && !arguments.output)
    return base::bad_input("--pick chooses the schedule of a front that is written: it needs -o FILE");
  if (pareto && arguments.deadline) return base::bad_input("--objective pareto chooses its deadlines itself; it takes no --deadline");
  if (pareto && arguments.search.robustness_percent > 0)
    return base::bad_input("a front is between makespan and peak activation; --objective pareto takes no --robust");
  if (pareto && arguments.solver != default_solver().name)
    return base::bad_input(
        fmt::format("--objective pareto is searched by all solvers together; it takes no --solver but {}", default_solver().name));
  return {};
}

base::Result<Request> make_request(const Arguments& arguments) {
  Request request;
  DOVETAIL_TRY(request.solver, solver_named(arguments.solver));
  if (arguments.mpi.asked && !request.solver->is_shared) {
    return base::bad_input(fmt::format(
        "--mpi shares out the chains of the search, and solver '{}' has none of those; the solvers search and auto do", arguments.solver));
  }
  if (arguments.from && !request.solver->searches) {
    return base::bad_input(fmt::format("--from is where a search starts, and solver '{}' makes its schedule by rule", arguments.solver));
  }
  DOVETAIL_TRY(request.named, load_problem(arguments.problem));
  request.options = to_solve_options(arguments.search);
  if (arguments.deadline) {
    DOVETAIL_TRY(request.options.deadline, parse_deadline(*arguments.deadline, request.named.problem.time_unit));
  }
  if (arguments.from) {
    DOVETAIL_TRY(const ScheduleText text, read_schedule_text(*arguments.from, std::nullopt));
    DOVETAIL_TRY(LoadedSchedule loaded, load_schedule_of(request.named, text));
    // It is valid; what a trace claims of it is rounded.
    const auto made_by = loaded.file.schedule.claims.solver;
    loaded.file.schedule.claims = {};
    loaded.file.schedule.claims.solver = made_by;
    DOVETAIL_TRY(request.start, fuse::to_solution(loaded.file.schedule));
  }
  request.bounds = fuse::bounds_of(request.named.problem);
  return request;
}

/// `writes`: of several processes only the first does.
base::Result<Request> prepare(Arguments& arguments, bool writes) {
  DOVETAIL_CHECK(check_combination(arguments));
  DOVETAIL_CHECK(check_output_options(arguments.output, arguments.format, arguments.json));
  if (!writes) arguments.output.reset();
  std::optional<ScheduleFormat> format;
  if (arguments.output) {
    const bool whole_front = arguments.search.pareto && arguments.pick == 0;
    DOVETAIL_TRY(format,
                 whole_front ? front_format(*arguments.output, arguments.format) : format_to_write(*arguments.output, arguments.format));
  }
  DOVETAIL_TRY(Request request, make_request(arguments));
  DOVETAIL_CHECK(check_no_input(arguments.output));
  request.format = format;
  return request;
}

/// What all processes have to read alike.
std::string input_of(const Request& request) {
  std::string text = pipeline::problem_to_json(request.named.problem);
  if (!request.start) return text;
  return text + pipeline::schedule_to_json(pipeline::to_schedule(request.start->problem, request.start->graph, request.start->evaluation));
}

/// Prepares one of several processes; all end alike.
base::Result<Request> prepare_as_one_of(const parallel::Exchange& exchange, Arguments& arguments) {
  base::Result<Request> request = prepare(arguments, exchange.rank == 0);
  DOVETAIL_CHECK(parallel::agree_on_input(exchange, request.ok() ? base::Result<std::string>(input_of(*request)) : request.error(),
                                          "another problem or another schedule to start from"));
  request->options.exchange = &exchange;
  if (arguments.search.budget.threads == 0) request->options.threads = 1;
  note_idle_processes(exchange, request->options.chains);
  return request;
}

base::Result<int> run_pareto(const Arguments& arguments, const Request& request) {
  const FrontOutput output{arguments.output, request.format.value_or(ScheduleFormat::json), arguments.pick, arguments.json};
  fuse::SolveOptions options = request.options;
  options.start = request.start ? &*request.start : nullptr;
  const Front front = solve_front(request.named, request.bounds, options, output);
  base::Result<int> code = report_front(request.named, front, output);
  const auto& lost = front.schedules.front().solved.solution.lost_process;
  // A front that was cut short may have fewer schedules than --pick counts on.
  if (lost && (code.ok() || code.error().failure == base::Failure::bad_input)) return *lost;
  return code;
}

base::Result<int> solve_and_report(const Arguments& arguments, const Request& request) {
  if (const auto impossible = find_impossible(request)) {
    if (arguments.json) print_json(answer::json_text(impossible->json));
    print_error(impossible->text);
    return exit_infeasible;
  }
  if (arguments.search.pareto) return run_pareto(arguments, request);
  DOVETAIL_TRY(const Run run, solve_with_progress(arguments, request));
  const fuse::Solution& solution = run.solved.solution;
  const bool is_feasible = run.solved.excess.empty() && meets_deadline(request, solution);
  if (is_feasible) {
    std::vector<std::string> written;
    if (request.format) {
      DOVETAIL_TRY(written, write_schedule(run.solved.schedule, request.named.name, *request.format, *arguments.output));
    }
    if (arguments.json) {
      print_json(answer::json_text(report_json(request, run, written)));
    } else {
      print_beside(arguments.output, report_text(request, run, written));
    }
  } else {
    if (arguments.json) print_json(answer::json_text(report_json(request, run, {})));
    print_error(infeasible_text(request, run.solved));
  }
  // With all processes there might have been a better answer.
  if (solution.lost_process) return *solution.lost_process;
  if (!is_feasible) return exit_infeasible;
  return solution.stopped_by == pipeline::StoppedBy::interrupt || stop_on_interrupt().requested() ? exit_interrupted : exit_done;
}

base::Result<int> run(const Arguments& given) {
  DOVETAIL_TRY(const std::optional<parallel::Exchange> exchange, connect_processes(given.mpi));
  Arguments arguments = given;
  DOVETAIL_TRY(const Request request, exchange ? prepare_as_one_of(*exchange, arguments) : prepare(arguments, true));
  auto code = solve_and_report(arguments, request);
  if (exchange && !code.ok() && code.error().failure == base::Failure::io) wait_for_the_first(*exchange);
  return code;
}

}  // namespace

void add_schedule(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "schedule", "make a schedule of a problem",
                                  "  dovetail schedule problem.yaml --time-limit 30s -o schedule.json\n"
                                  "  dovetail schedule exp5 -o exp5.svg\n"
                                  "  dovetail schedule exp5 --objective pareto -o front.svg\n\n" +
                                      list_of_solvers());
  add_positional(*command, "PROBLEM", arguments->problem,
                 "problem file, '-' for standard input, or a bundled instance (see dovetail instances)");
  add_text_option(*command, "--solver", arguments->solver, "SOLVER",
                  fmt::format("how to make it (default {}: {})", default_solver().name, default_solver().summary));
  add_objective_options(*command, arguments->search, true);
  add_text_option(*command, "--deadline", arguments->deadline, "TIME",
                  "find the least peak among the schedules that end by TIME, in the problem's unit");
  add_count_option(*command, "--pick", arguments->pick, 1, max_picked, "of a front, write the schedule with this number to -o FILE");
  add_text_option(*command, "--from", arguments->from, "FILE", "start the search from this schedule of the problem: never worse than it");
  add_search_options(*command, arguments->search);
  add_mpi_options(*command, arguments->mpi);
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "write the schedule, or the front (.json, .svg), to FILE ('-': standard output)");
  add_text_option(*command, "--format", arguments->format, written_formats, "format of FILE (default: by its extension)");
  add_json_flag(*command, arguments->json);
  set_action(*command, action, [arguments] { return run(*arguments); });
}

}  // namespace dovetail::cli
