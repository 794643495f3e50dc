// dovetail schedule: one schedule of a problem.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/answer.h"
#include "cli/arguments.h"
#include "cli/best_file.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/pareto.h"
#include "cli/processes.h"
#include "cli/progress_line.h"
#include "fuse/pareto.h"
#include "fuse/solution/variation.h"
#include "fuse/solver.h"
#include "pipeline/problem_file.h"
#include "pipeline/schedule_file.h"
#include "report/table.h"
#include "report/text.h"

namespace dovetail::cli {
namespace {

/// More than any front has.
constexpr int most_picked = 1000;

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

/// What is to be solved, and how.
struct Request {
  NamedProblem named;
  const fuse::Solver* solver = nullptr;
  fuse::Bounds bounds;
  std::optional<fuse::Solution> start;
  fuse::SolveOptions options;            ///< without `start`, which moves with the Request
  std::optional<ScheduleFormat> format;  ///< of -o, where a schedule is written to it
};

/// The problem, and how many ops the schedule has: a backward that is split in it counts as two.
std::string problem_line(const NamedProblem& named, const pipeline::Schedule& schedule) {
  std::size_t ops = 0;
  for (const auto& rows : schedule.devices) ops += rows.size();
  const auto number = [](std::size_t count, std::string_view noun) { return report::counted(static_cast<std::int64_t>(count), noun); };
  return fmt::format("{}: {}, {}, {}, {}\n", named.name, report::counted(named.problem.devices, "device"),
                     number(named.problem.models.size(), "model"), number(pipeline::pipelines_of(named.problem).size(), "pipeline"),
                     number(ops, "op"));
}

/// "optimal", or how far the value is from its bound.
template <class Amount>
std::string distance(Amount value, std::optional<Amount> bound, std::optional<bool> optimal) {
  if (!bound) return "no bound is proven";
  if (optimal.value_or(false)) return "optimal";
  return gap_text(gap(value, *bound));
}

/// What the makespan and the peak are, beside their bounds.
std::string figures(const Solved& solved) {
  const pipeline::Claims& claims = solved.schedule.claims;
  const base::TimeUnit unit = solved.schedule.problem.time_unit;
  const pipeline::Evaluation& evaluation = solved.solution.evaluation;
  const auto bound_text = [](const auto& bound, auto format) { return bound ? "bound " + format(*bound) : std::string(); };
  std::string solver = describe(solved.solution.solver);
  if (solved.solution.stopped_by) solver += fmt::format(", stopped by {}", pipeline::name_of(*solved.solution.stopped_by));
  const std::vector<std::vector<std::string>> rows{
      {"makespan", time_with_unit(evaluation.makespan, unit),
       bound_text(claims.bound_makespan, [unit](base::Ticks time) { return base::format_time(time, unit); }),
       distance(evaluation.makespan, claims.bound_makespan, claims.optimal_makespan)},
      {"peak activation", base::format_memory(evaluation.peak_activation), bound_text(claims.bound_peak_activation, base::format_memory),
       distance(evaluation.peak_activation, claims.bound_peak_activation, claims.optimal_peak_activation)},
      {"bubbles", percent(pipeline::bubble_rate(evaluation)), "", ""}};
  std::string text = fmt::format("solver: {}\n", solver);
  if (solved.solution.other_layout) text += fmt::format("another layout: {}\n", *solved.solution.other_layout);
  for (const auto& row : rows) {
    text += fmt::format("{:<15}  {:>16}  {:<16} {}", row[0], row[1], row[2], row[3]);
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

/// What each device holds and may hold, where anything is limited.
std::string device_table(const Solved& solved, std::optional<base::Memory> cap) {
  const pipeline::Problem& problem = solved.solution.problem;
  if (!problem.capacity && !cap) return {};
  std::vector<std::vector<std::string>> rows;
  for (std::size_t device = 0; device < solved.solution.evaluation.devices.size(); ++device) {
    const base::Memory held = problem.resident[device] + solved.solution.evaluation.devices[device].peak;
    base::Memory limit = cap.value_or(base::Memory::max());
    if (problem.capacity) limit = std::min(limit, (*problem.capacity)[device]);
    rows.push_back({fmt::format("{}", device), base::format_memory(problem.resident[device]),
                    base::format_memory(solved.solution.evaluation.devices[device].peak), base::format_memory(held),
                    base::format_memory(limit), base::format_memory(limit - held)});
  }
  return "\n" + report::render_table({{"device"}, {"resident"}, {"peak activation"}, {"held"}, {"capacity"}, {"free"}}, rows);
}

/// How the makespan does when durations vary as --robust weighs it.
fuse::Variation varied(const Request& request, const Solved& solved) {
  fuse::VariationOptions options;
  options.seed = request.options.seed;
  options.threads = request.options.threads;
  return fuse::vary_durations(solved.solution.graph, solved.solution.order, options);
}

/// What is proven of what was asked for, beyond the bounds of the two figures.
std::string remarks(const Request& request, const Solved& solved) {
  const base::TimeUnit unit = request.named.problem.time_unit;
  const fuse::SolveOptions& options = request.options;
  std::string text;
  if (options.deadline) {
    fuse::BoundOptions proof;
    proof.known_peak = solved.solution.evaluation.peak_activation;
    text += fmt::format("by the deadline of {}: no schedule has a peak below {}\n", time_with_unit(*options.deadline, unit),
                        base::format_memory(fuse::peak_activation_bound(solved.solution.problem, *options.deadline, proof)));
  } else if (options.objective == fuse::Objective::memory) {
    const fuse::PointBounds proven = fuse::point_bounds(solved.solution, solved.bounds, fuse::BoundOptions{}.work);
    text += fmt::format("at this peak: no schedule is shorter than {}\n", time_with_unit(proven.makespan, unit));
  }
  if (options.robustness_percent > 0) {
    const fuse::Variation variation = varied(request, solved);
    text += fmt::format("when ops last 5% less to 5% more: makespan {} (median), {} (95th percentile)\n",
                        format_thousandths_rounded(variation.median_thousandths, unit),
                        format_thousandths_rounded(variation.percentile_95_thousandths, unit));
  }
  return text;
}

bool meets_deadline(const Request& request, const fuse::Solution& solution) {
  return !request.options.deadline || solution.evaluation.makespan <= *request.options.deadline;
}
bool meets_deadline(const Request& request, const Solved& solved) { return meets_deadline(request, solved.solution); }

/// What was asked for, as far as it is not the default.
void add_request(Json& object, const Request& request) {
  const base::TimeUnit unit = request.named.problem.time_unit;
  object["objective"] = request.options.objective == fuse::Objective::memory ? "memory" : "makespan";
  if (request.options.deadline) object["deadline"] = json_time(*request.options.deadline, unit);
  if (request.options.robustness_percent > 0) object["robust"] = request.options.robustness_percent;
}

Json smallest_capacity_json(const pipeline::Problem& problem) {
  Json list = Json::array();
  for (const base::Memory capacity : smallest_capacities(problem)) list.push_back(json_memory(capacity));
  return list;
}

Json report_json(const Request& request, const Solved& solved, const std::vector<std::string>& written, double iterations_per_second) {
  const NamedProblem& named = request.named;
  const pipeline::Claims& claims = solved.schedule.claims;
  const base::TimeUnit unit = solved.schedule.problem.time_unit;
  const pipeline::Evaluation& evaluation = solved.solution.evaluation;
  Json object{{"format", "dovetail/schedule-report@1"},
              {"problem", named.name},
              {"time_unit", base::name_of(unit)},
              {"solver", to_json(solved.solution.solver)}};
  add_request(object, request);
  if (solved.solution.stopped_by) object["stopped_by"] = pipeline::name_of(*solved.solution.stopped_by);
  if (solved.solution.other_layout) object["other_layout"] = *solved.solution.other_layout;
  object["fits"] = solved.excess.empty();
  if (request.options.deadline) object["meets_deadline"] = meets_deadline(request, solved);
  object["makespan"] = json_time(evaluation.makespan, unit);
  object["peak_activation"] = json_memory(evaluation.peak_activation);
  object["bounds"] = Json{{"makespan", claims.bound_makespan ? json_time(*claims.bound_makespan, unit) : Json(nullptr)},
                          {"peak_activation", json_memory(claims.bound_peak_activation)}};
  object["optimal"] =
      Json{{"makespan", claims.optimal_makespan.value_or(false)}, {"peak_activation", claims.optimal_peak_activation.value_or(false)}};
  object["bubbles"] = json_ratio(pipeline::bubble_rate(evaluation));
  object["peak_activation_by_device"] = Json::array();
  for (const pipeline::DeviceUse& use : evaluation.devices) object["peak_activation_by_device"].push_back(json_memory(use.peak));
  if (request.options.robustness_percent > 0) {
    const fuse::Variation variation = varied(request, solved);
    object["varied"] = Json{{"by", 0.05},
                            {"median", json_number(format_thousandths(variation.median_thousandths, unit))},
                            {"percentile_95", json_number(format_thousandths(variation.percentile_95_thousandths, unit))}};
  }
  if (!solved.excess.empty()) {
    object["excess"] = excess_json(solved.excess);
    object["smallest_capacity"] = smallest_capacity_json(solved.solution.problem);
  }
  object["written"] = written;
  object["timing"] = Json{{"seconds", json_seconds(solved.seconds)}};
  if (iterations_per_second > 0) object["timing"]["iterations_per_second"] = json_ratio(iterations_per_second);
  return object;
}

int report_infeasible(const Arguments& arguments, const Request& request, const Solved& solved, double iterations_per_second) {
  if (arguments.json) print_json(report_json(request, solved, {}, iterations_per_second));
  if (!solved.excess.empty()) {
    print_error(fmt::format("dovetail: no schedule that {} found fits the memory; the one with the least excess:\n{}{}", arguments.solver,
                            excess_table(solved.excess), smallest_capacity_text(solved.solution.problem)));
    return exit_infeasible;
  }
  const base::TimeUnit unit = request.named.problem.time_unit;
  print_error(
      fmt::format("dovetail: no schedule that {} found ends by the deadline of {}; the shortest takes {} (no schedule is shorter "
                  "than {})\n",
                  arguments.solver, time_with_unit(*request.options.deadline, unit),
                  base::format_time(solved.solution.evaluation.makespan, unit), base::format_time(solved.bounds.makespan, unit)));
  return exit_infeasible;
}

/// Where no schedule at all can do what is asked, nothing is searched; nothing where one might.
std::optional<int> report_impossible(const Arguments& arguments, const Request& request) {
  const pipeline::Problem& problem = request.named.problem;
  const auto excess = fuse::find_impossible(problem, request.options.memory_cap);
  const bool is_late = request.options.deadline && *request.options.deadline < request.bounds.makespan;
  if (excess.empty() && !is_late) return std::nullopt;
  Json object{{"format", "dovetail/schedule-report@1"}, {"problem", request.named.name}, {"time_unit", base::name_of(problem.time_unit)}};
  add_request(object, request);
  object["fits"] = excess.empty();
  if (request.options.deadline) object["meets_deadline"] = !is_late;
  object["impossible"] = true;
  if (!excess.empty()) {
    object["excess"] = excess_json(excess);
    object["smallest_capacity"] = smallest_capacity_json(problem);
  }
  object["written"] = Json::array();
  if (arguments.json) print_json(object);
  if (!excess.empty())
    print_error(fmt::format("dovetail: {}:\n{}{}", impossible_message, excess_table(excess), smallest_capacity_text(problem)));
  if (is_late) {
    print_error(fmt::format("dovetail: no schedule ends by the deadline of {}: none is shorter than {}\n",
                            time_with_unit(*request.options.deadline, problem.time_unit),
                            base::format_time(request.bounds.makespan, problem.time_unit)));
  }
  return exit_infeasible;
}

/// Where the schedule is written to, and how; nothing without -o.
base::Result<std::optional<ScheduleFormat>> output_format(const Arguments& arguments) {
  if (arguments.json && arguments.output && is_standard_output(*arguments.output)) {
    return base::bad_input("--json and -o - both want standard output; write the schedule to a file");
  }
  if (arguments.format && !arguments.output) return base::bad_input("--format is the format of -o FILE, which is missing");
  if (!arguments.output) return std::optional<ScheduleFormat>();
  DOVETAIL_TRY(const ScheduleFormat format, format_to_write(*arguments.output, arguments.format));
  return std::optional(format);
}

/// The answer, and how fast the search was (0 for a construction).
struct Run {
  Solved solved;
  double iterations_per_second = 0;
};

/// Where the best so far is written to while several processes work on it: what is no file can be written to only once.
std::optional<BestFile> best_file(const Arguments& arguments, const Request& request) {
  if (!request.options.exchange || !request.format || is_standard_output(*arguments.output)) return std::nullopt;
  std::error_code ignored;
  const auto status = std::filesystem::status(*arguments.output, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) return std::nullopt;
  return BestFile(*arguments.output, *request.format, request.named.name, request.bounds);
}

base::Result<Run> solve_with_progress(const Arguments& arguments, const Request& request) {
  fuse::SolveOptions options = request.options;
  options.start = request.start ? &*request.start : nullptr;
  options.cancellation = &stop_on_interrupt();
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
    if (fits && meets_deadline(request, solution)) file->take(solution);
  };
  if (file) options.on_better = take_better;
  DOVETAIL_TRY(Solved solved, solve(*request.solver, problem, request.bounds, options));
  return Run{std::move(solved), line.iterations_per_second()};
}

void report(const Arguments& arguments, const Request& request, const Run& run, const std::vector<std::string>& written) {
  if (arguments.json) {
    print_json(report_json(request, run.solved, written, run.iterations_per_second));
    return;
  }
  std::string text = problem_line(request.named, run.solved.schedule) + figures(run.solved) + remarks(request, run.solved) +
                     device_table(run.solved, arguments.search.memory_cap);
  for (const std::string& path : written) text += fmt::format("written: {}\n", path);
  text += fmt::format("took: {:.1f} s\n", run.solved.seconds);
  if (arguments.output && is_standard_output(*arguments.output)) {
    print_error(text);
  } else {
    print(text);
  }
}

/// Options that do not go together.
base::Status check_combination(const Arguments& arguments) {
  const bool pareto = arguments.search.pareto;
  if (arguments.from && *arguments.from == "-" && arguments.problem == "-")
    return base::bad_input("the problem and the schedule to start from cannot both be read from standard input");
  if (arguments.mpi.asked && (arguments.problem == "-" || (arguments.from && *arguments.from == "-")))
    return base::bad_input("with --mpi every process reads the problem and the schedule, and only one has standard input; name files");
  if (arguments.pick > 0 && !pareto) return base::bad_input("--pick chooses from a front: it needs --objective pareto");
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
    auto deadline = base::parse_time(*arguments.deadline, request.named.problem.time_unit, base::FineDigits::refuse);
    if (!deadline) return base::bad_input(fmt::format("--deadline: '{}' {}", *arguments.deadline, deadline.error().message));
    request.options.deadline = *deadline;
  }
  if (arguments.from) {
    DOVETAIL_TRY(LoadedSchedule loaded, load_schedule_of(request.named, *arguments.from, std::nullopt));
    // It is valid; what a trace claims of it is rounded.
    const auto made_by = loaded.file.schedule.claims.solver;
    loaded.file.schedule.claims = {};
    loaded.file.schedule.claims.solver = made_by;
    DOVETAIL_TRY(request.start, fuse::to_solution(loaded.file.schedule));
  }
  request.bounds = fuse::bounds_of(request.named.problem);
  return request;
}

FrontOutput front_output(const Arguments& arguments) { return {arguments.output, arguments.format, arguments.pick, arguments.json}; }

base::Result<int> run_pareto(const Arguments& arguments, const Request& request) {
  const Front front = solve_front(request.named, request.bounds, request.options, request.start ? &*request.start : nullptr);
  DOVETAIL_TRY(const int code, report_front(request.named, front, front_output(arguments)));
  if (const auto& lost = front.schedules.front().solved.solution.lost_process) return *lost;
  return code;
}

base::Result<Request> prepare(const Arguments& arguments) {
  DOVETAIL_CHECK(check_combination(arguments));
  std::optional<ScheduleFormat> format;
  if (arguments.search.pareto && arguments.pick == 0) {
    DOVETAIL_CHECK(check_front_output(front_output(arguments)));
  } else {
    DOVETAIL_TRY(format, output_format(arguments));
  }
  DOVETAIL_TRY(Request request, make_request(arguments));
  request.format = format;
  return request;
}

/// What all processes have to read alike.
std::string input_of(const Request& request) {
  std::string text = pipeline::problem_to_json(request.named.problem);
  if (!request.start) return text;
  return text + pipeline::schedule_to_json(pipeline::to_schedule(request.start->problem, request.start->graph, request.start->evaluation));
}

/// Prepares one of several processes. Only the first writes; all end alike.
base::Result<Request> prepare_as_one_of(const parallel::Exchange& exchange, Arguments& arguments) {
  if (exchange.rank > 0) {
    arguments.output.reset();
    arguments.format.reset();
  }
  base::Result<Request> request = prepare(arguments);
  DOVETAIL_CHECK(agree_on_input(exchange, request.ok() ? base::Result<std::string>(input_of(*request)) : request.error()));
  request->options.exchange = &exchange;
  if (arguments.search.threads == 0) request->options.threads = 1;
  if (const int chains = request->options.chains; chains < exchange.ranks)
    print_note(fmt::format("{} processes share out {}: some have nothing to do; more processes are for more chains (--chains)",
                           exchange.ranks, report::counted(chains, "chain")));
  return request;
}

base::Result<int> solve_and_report(const Arguments& arguments, const Request& request) {
  if (const auto code = report_impossible(arguments, request)) return *code;
  if (arguments.search.pareto) return run_pareto(arguments, request);
  DOVETAIL_TRY(const Run run, solve_with_progress(arguments, request));
  if (!run.solved.excess.empty() || !meets_deadline(request, run.solved))
    return report_infeasible(arguments, request, run.solved, run.iterations_per_second);
  std::vector<std::string> written;
  if (request.format) {
    DOVETAIL_TRY(written, write_schedule(run.solved.schedule, request.named.name, *request.format, *arguments.output));
  }
  report(arguments, request, run, written);
  if (const auto& lost = run.solved.solution.lost_process) return *lost;
  return run.solved.solution.stopped_by == pipeline::StoppedBy::interrupt ? exit_interrupted : exit_done;
}

base::Result<int> run(const Arguments& given) {
  DOVETAIL_TRY(const std::optional<parallel::Exchange> exchange, connect_processes(given.mpi));
  Arguments arguments = given;
  DOVETAIL_TRY(const Request request, exchange ? prepare_as_one_of(*exchange, arguments) : prepare(arguments));
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
  command
      ->add_option("--solver", arguments->solver,
                   fmt::format("how to make it (default {}: {})", default_solver().name, default_solver().summary))
      ->option_text("SOLVER");
  add_objective_options(*command, arguments->search, true);
  add_text_option(*command, "--deadline", arguments->deadline, "TIME",
                  "find the least peak among the schedules that end by TIME, in the problem's unit");
  add_count_option(*command, "--pick", arguments->pick, 1, most_picked, "of a front, take the schedule with this number");
  add_text_option(*command, "--from", arguments->from, "FILE", "start the search from this schedule of the problem: never worse than it");
  add_search_options(*command, arguments->search);
  add_mpi_options(*command, arguments->mpi);
  add_text_option(*command, "-o,--output", arguments->output, "FILE",
                  "write the schedule, or the front (.json, .svg), to FILE ('-': standard output)");
  add_text_option(*command, "--format", arguments->format, written_formats, "format of FILE (default: by its extension)");
  add_json_flag(*command, arguments->json);
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace dovetail::cli
