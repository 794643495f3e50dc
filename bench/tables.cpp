#include "tables.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "base/stopwatch.h"
#include "fuse/solver.h"
#include "parallel/for_each_index.h"
#include "pipeline/schedule/validate.h"

namespace dovetail::bench {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  constexpr std::string_view key = "model name";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return line.substr(std::min(line.size(), line.find(':') + 2));
  return "unknown processor";
}

/// Ends the program if `schedule` breaks a rule. It may exceed the memory limits only if `fits` is false.
void check(const pipeline::Schedule& schedule, std::string_view solver, bool fits) {
  const auto violation = pipeline::validate(schedule);
  if (!violation || (!fits && violation->rule == pipeline::Rule::capacity)) return;
  fmt::print(stderr, "{}: {}: {}\n", solver, pipeline::name_of(violation->rule), violation->message);
  std::exit(exit_broken_schedule);
}

double ratio(std::int64_t value, std::int64_t base) { return static_cast<double>(value) / static_cast<double>(base); }

}  // namespace

std::optional<Run> run(std::string_view solver, const pipeline::Problem& problem, const fuse::SolveOptions& options,
                       const std::function<void()>& when_solved) {
  const auto begin = std::chrono::steady_clock::now();
  fuse::Answer answer = fuse::find_solver(solver)->solve(problem, options);
  const double seconds = base::seconds_since(begin);
  when_solved();
  auto* solution = std::get_if<fuse::Solution>(&answer);
  if (solution == nullptr || solution->other_layout) return std::nullopt;
  const bool fits = pipeline::find_excess(problem, solution->evaluation, options.memory_cap).empty();
  check(pipeline::to_schedule(problem, solution->graph, solution->evaluation), solver, fits);
  return Run{std::move(*solution), {}, fits, seconds};
}

Run run_search(const pipeline::Problem& problem, const fuse::SolveOptions& options,
               const std::function<void()>& when_solved) {
  Run made = run("auto", problem, options, when_solved).value();  // it applies to every problem
  made.claims = fuse::to_schedule(made.solution, fuse::bounds_of(problem)).claims;
  return made;
}

void add_search_options(Arguments& program, double& seconds, int& threads) {
  program.number("--seconds", seconds, "time limit of each search in seconds", 0.001, 86400.0);
  program.number("--threads", threads, "threads of each search", 1, 1024);
}

Run run_best_construction(const pipeline::Problem& problem, const fuse::SolveOptions& options) {
  std::optional<Run> best;
  for (const fuse::Solver& solver : fuse::solvers()) {
    if (solver.searches || solver.name == "pattern") continue;  // the pattern is part of the search
    std::optional<Run> made = run(solver.name, problem, options);
    if (made && (!best || fuse::is_better(made->solution, best->solution, options))) best = std::move(made);
  }
  return std::move(best).value();  // one-at-a-time applies to every problem
}

std::optional<Run> run_annealing_after(double other_seconds, const pipeline::Problem& problem,
                                       const fuse::SolveOptions& options, const std::function<void()>& when_solved) {
  const double most = std::max(1.0, other_seconds);
  fuse::SolveOptions again = options;
  std::optional<Run> best;
  double seconds = 0;
  for (; seconds < 0.9 * most; ++again.seed) {
    again.time_limit_seconds = most - seconds;
    std::optional<Run> made = run("annealing", problem, again, when_solved);
    if (!made) return std::nullopt;
    seconds += made->seconds;
    if (!best || fuse::is_better(made->solution, best->solution, options)) best = std::move(made);
  }
  best->seconds = seconds;
  return best;
}

double resident_gibibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / (1024.0 * 1024.0);
}

std::string makespan_text(const std::optional<Run>& run) {
  if (!run) return "-";
  return base::format_time(run->solution.evaluation.makespan, run->solution.problem.time_unit) + (run->fits ? "" : "*");
}

std::string peak_text(const std::optional<Run>& run) {
  return run ? base::format_memory(run->solution.evaluation.peak_activation) : "-";
}

std::string optimal_text(const Run& run) {
  if (!run.claims.optimal_makespan.value_or(false)) return "-";
  return run.claims.optimal_peak_activation.value_or(false) ? "makespan, peak" : "makespan";
}

std::string ratio_text(const std::optional<Run>& run, const Run& base) {
  if (!run) return "-";
  return fmt::format("{:.3f}",
                     ratio(run->solution.evaluation.makespan.count(), base.solution.evaluation.makespan.count()));
}

std::string peak_ratio_text(const std::optional<Run>& run, const Run& base) {
  const std::int64_t peak = base.solution.evaluation.peak_activation.count();
  if (!run || peak == 0) return "-";
  return fmt::format("{:.3f}", ratio(run->solution.evaluation.peak_activation.count(), peak));
}

std::string seconds_text(double seconds) { return fmt::format("{:.1f}", seconds); }

std::string gibibytes_text(double gibibytes) { return fmt::format("{:.2f}", gibibytes); }

std::string gap_text(std::int64_t makespan, std::int64_t bound) {
  return bound == 0 ? "-" : fmt::format("{:.2f}%", 100 * (ratio(makespan, bound) - 1));
}

std::string yes_or_no(bool value) { return value ? "yes" : "NO"; }

std::optional<std::vector<const pipeline::Instance*>> find_instances(const std::vector<std::string>& names) {
  std::vector<const pipeline::Instance*> found;
  for (const std::string& name : names) {
    found.push_back(pipeline::find_instance(name));
    if (found.back() != nullptr) continue;
    fmt::print(stderr, "'{}' is not a bundled instance; run `dovetail instances` to list them\n", name);
    return std::nullopt;
  }
  return found;
}

void print_heading(int count, char** arguments) {
  std::string command;
  for (int i = 0; i < count; ++i) command += (i > 0 ? " " : "") + std::string(arguments[i]);
  fmt::print("{}\n{}, {} processors; compiler {}, {}\n\n", command, processor_name(), parallel::default_thread_count(),
             __VERSION__, DOVETAIL_BUILD_TYPE);
}

void note(const std::string& text) { fmt::print(stderr, "{}\n", text); }

int print_met(int met, int all) {
  fmt::print("met: {} of {}\n", met, all);
  return met == all ? 0 : 1;
}

}  // namespace dovetail::bench
