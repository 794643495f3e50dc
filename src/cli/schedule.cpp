// dovetail schedule: one schedule of a problem.
#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "report/table.h"
#include "report/text.h"

namespace dovetail::cli {
namespace {

struct Arguments {
  std::string problem;
  std::string solver{default_solver().name};
  SearchArguments search;
  std::optional<std::string> output;
  std::optional<std::string> format;
  bool json = false;
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

Json report_json(const NamedProblem& named, const Solved& solved, const std::vector<std::string>& written, double iterations_per_second) {
  const pipeline::Claims& claims = solved.schedule.claims;
  const base::TimeUnit unit = solved.schedule.problem.time_unit;
  const pipeline::Evaluation& evaluation = solved.solution.evaluation;
  Json object{{"format", "dovetail/schedule-report@1"},
              {"problem", named.name},
              {"time_unit", base::name_of(unit)},
              {"solver", to_json(solved.solution.solver)}};
  if (solved.solution.stopped_by) object["stopped_by"] = pipeline::name_of(*solved.solution.stopped_by);
  if (solved.solution.other_layout) object["other_layout"] = *solved.solution.other_layout;
  object["fits"] = solved.excess.empty();
  object["makespan"] = json_time(evaluation.makespan, unit);
  object["peak_activation"] = json_memory(evaluation.peak_activation);
  object["bounds"] = Json{{"makespan", claims.bound_makespan ? json_time(*claims.bound_makespan, unit) : Json(nullptr)},
                          {"peak_activation", json_memory(claims.bound_peak_activation)}};
  object["optimal"] =
      Json{{"makespan", claims.optimal_makespan.value_or(false)}, {"peak_activation", claims.optimal_peak_activation.value_or(false)}};
  object["bubbles"] = json_ratio(pipeline::bubble_rate(evaluation));
  object["peak_activation_by_device"] = Json::array();
  for (const pipeline::DeviceUse& use : evaluation.devices) object["peak_activation_by_device"].push_back(json_memory(use.peak));
  if (!solved.excess.empty()) object["excess"] = excess_json(solved.excess);
  object["written"] = written;
  object["timing"] = Json{{"seconds", json_seconds(solved.seconds)}};
  if (iterations_per_second > 0) object["timing"]["iterations_per_second"] = json_ratio(iterations_per_second);
  return object;
}

int report_infeasible(const Arguments& arguments, const NamedProblem& named, const Solved& solved, double iterations_per_second) {
  if (arguments.json) print_json(report_json(named, solved, {}, iterations_per_second));
  print_error(fmt::format("dovetail: no schedule that {} found fits the memory; the one with the least excess:\n{}", arguments.solver,
                          excess_table(solved.excess)));
  return exit_infeasible;
}

/// Where no schedule at all can fit, nothing is searched.
int report_impossible(const Arguments& arguments, const NamedProblem& named, const std::vector<pipeline::CapacityExcess>& excess) {
  if (arguments.json) {
    print_json({{"format", "dovetail/schedule-report@1"},
                {"problem", named.name},
                {"time_unit", base::name_of(named.problem.time_unit)},
                {"fits", false},
                {"impossible", true},
                {"excess", excess_json(excess)},
                {"written", Json::array()}});
  }
  print_error(fmt::format("dovetail: {}:\n{}", impossible_message, excess_table(excess)));
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

base::Result<Run> solve_with_progress(const fuse::Solver& solver, const NamedProblem& named, const SearchArguments& search) {
  const fuse::Bounds bounds = fuse::bounds_of(named.problem);
  fuse::SolveOptions options = to_solve_options(search);
  options.cancellation = &stop_on_interrupt();
  ProgressLine line(named.name, bounds.makespan, named.problem.time_unit);
  options.on_progress = [&line](const fuse::Progress& progress) { line.update(progress); };
  DOVETAIL_TRY(Solved solved, solve(solver, named.problem, bounds, options));
  return Run{std::move(solved), line.iterations_per_second()};
}

/// A line for a search that came down to a construction, since no search applies; nothing otherwise.
std::string why_nothing_was_searched(const Arguments& arguments, const NamedProblem& named, const Solved& solved) {
  const fuse::Solver* const solver = fuse::find_solver(arguments.solver);
  const pipeline::Claims& claims = solved.schedule.claims;
  const bool is_optimal = claims.optimal_makespan.value_or(false) && claims.optimal_peak_activation.value_or(false);
  const bool was_searched = solved.solution.solver.iterations || solved.solution.stopped_by;
  if (was_searched || is_optimal || !solver->searches) return {};
  const auto why = why_no_search_applies(named.problem);
  return why ? fmt::format("no search applies: {}\n", *why) : std::string();
}

void report(const Arguments& arguments, const NamedProblem& named, const Run& run, const std::vector<std::string>& written) {
  if (arguments.json) {
    print_json(report_json(named, run.solved, written, run.iterations_per_second));
    return;
  }
  std::string text = problem_line(named, run.solved.schedule) + figures(run.solved) +
                     why_nothing_was_searched(arguments, named, run.solved) + device_table(run.solved, arguments.search.memory_cap);
  for (const std::string& path : written) text += fmt::format("written: {}\n", path);
  text += fmt::format("took: {:.1f} s\n", run.solved.seconds);
  if (arguments.output && is_standard_output(*arguments.output)) {
    print_error(text);
  } else {
    print(text);
  }
}

base::Result<int> run(const Arguments& arguments) {
  DOVETAIL_TRY(const std::optional<ScheduleFormat> format, output_format(arguments));
  DOVETAIL_TRY(const fuse::Solver* const solver, solver_named(arguments.solver));
  DOVETAIL_TRY(const NamedProblem named, load_problem(arguments.problem));
  const auto impossible = fuse::find_impossible(named.problem, arguments.search.memory_cap);
  if (!impossible.empty()) return report_impossible(arguments, named, impossible);
  DOVETAIL_TRY(const Run run, solve_with_progress(*solver, named, arguments.search));
  if (!run.solved.excess.empty()) return report_infeasible(arguments, named, run.solved, run.iterations_per_second);
  std::vector<std::string> written;
  if (format) {
    DOVETAIL_TRY(written, write_schedule(run.solved.schedule, named.name, *format, *arguments.output));
  }
  report(arguments, named, run, written);
  return run.solved.solution.stopped_by == pipeline::StoppedBy::interrupt ? exit_interrupted : exit_done;
}

}  // namespace

void add_schedule(CLI::App& program, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = add_command(program, "schedule", "make a schedule of a problem",
                                  "  dovetail schedule problem.yaml --time-limit 30s -o schedule.json\n"
                                  "  dovetail schedule exp5 -o exp5.svg\n\n" +
                                      list_of_solvers());
  add_positional(*command, "PROBLEM", arguments->problem,
                 "problem file, '-' for standard input, or a bundled instance (see dovetail instances)");
  command
      ->add_option("--solver", arguments->solver,
                   fmt::format("how to make it (default {}: {})", default_solver().name, default_solver().summary))
      ->option_text("SOLVER");
  add_search_options(*command, arguments->search);
  add_text_option(*command, "-o,--output", arguments->output, "FILE", "write the schedule to FILE ('-': standard output)");
  add_text_option(*command, "--format", arguments->format, written_formats, "format of FILE (default: by its extension)");
  add_json_flag(*command, arguments->json);
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace dovetail::cli
