// Runs each solver on two models over 64 and 256 stages and prints its gap to the bound, peak, time and maximum
// resident memory. Each run has its own process. Met: the search within 3% of the bound on scale64; within 5%, in 60 s
// and 4 GiB, on scale256.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "report/text/table.h"
#include "tables.h"

namespace {

using namespace dovetail;

struct Options {
  double seconds = 60;
  int threads = 2;
  std::vector<std::string> names;
};

/// Results of a child process, trivially copyable to be sent through a pipe.
struct Figures {
  bool made = false;
  std::int64_t makespan = 0;
  std::int64_t bound = 0;  ///< from the search's run, which add_rows copies to the others; 0 if unknown
  std::int64_t peak_activation = 0;
  double seconds = 0;
  double solver_gibibytes = 0;
  double all_gibibytes = 0;  ///< including bounds and validation
};

std::optional<bench::Run> run_solver(const std::string& solver, const pipeline::Problem& problem,
                                     const fuse::SolveOptions& options, const std::function<void()>& when_solved) {
  if (solver == "auto") return bench::run_search(problem, options, when_solved);
  if (solver == "annealing")
    return bench::run_annealing_after(*options.time_limit_seconds, problem, options, when_solved);
  return bench::run(solver, problem, options, when_solved);
}

Figures run_here(const std::string& solver, const pipeline::Problem& problem, const fuse::SolveOptions& options) {
  Figures figures;
  const auto made = run_solver(solver, problem, options, [&figures] {
    // In a series of runs, validation has already run after the first.
    if (figures.solver_gibibytes == 0) figures.solver_gibibytes = bench::resident_gibibytes();
  });
  if (!made) return figures;
  figures.made = true;
  figures.makespan = made->solution.evaluation.makespan.count();
  figures.bound = made->claims.bound_makespan.value_or(base::Ticks(0)).count();
  figures.peak_activation = made->solution.evaluation.peak_activation.count();
  figures.seconds = made->seconds;
  figures.all_gibibytes = bench::resident_gibibytes();
  return figures;
}

/// Runs run_here in a child process, so that memory is measured per run. Returns nullopt if the child died. An invalid
/// schedule ends the program.
std::optional<Figures> run_apart(const std::string& solver, const pipeline::Problem& problem,
                                 const fuse::SolveOptions& options) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  std::fflush(nullptr);  // otherwise the child would write the buffer as well
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    const Figures figures = run_here(solver, problem, options);
    const bool written = write(ends[1], &figures, sizeof figures) == static_cast<ssize_t>(sizeof figures);
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  Figures figures;
  const bool received = read(ends[0], &figures, sizeof figures) == static_cast<ssize_t>(sizeof figures);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == bench::exit_broken_schedule) std::exit(bench::exit_broken_schedule);
  return received ? std::optional(figures) : std::nullopt;
}

double gap_of(const Figures& figures) {
  return static_cast<double>(figures.makespan) / static_cast<double>(figures.bound) - 1;
}

bool is_met(const pipeline::Instance& instance, const Figures& figures) {
  if (instance.problem.devices < 256) return gap_of(figures) <= 0.03 && figures.seconds <= 60;
  return gap_of(figures) <= 0.05 && figures.seconds <= 60 && figures.solver_gibibytes <= 4;
}

std::vector<std::string> row_of(const pipeline::Instance& instance, const std::string& solver,
                                const std::optional<Figures>& figures, const std::optional<Figures>& search) {
  std::vector<std::string> row{instance.name, solver};
  if (!figures || !figures->made) {
    row.push_back(figures ? "not applicable" : "failed");
    row.insert(row.end(), 8, "-");
    return row;
  }
  const bool judged = solver == "auto";
  const base::TimeUnit unit = instance.problem.time_unit;
  row.push_back(figures->bound == 0 ? "-" : base::format_time(base::Ticks(figures->bound), unit));
  row.push_back(base::format_time(base::Ticks(figures->makespan), unit));
  row.push_back(bench::gap_text(figures->makespan, figures->bound));
  row.push_back(base::format_memory(base::Memory(figures->peak_activation)));
  row.push_back(bench::seconds_text(figures->seconds));
  row.push_back(bench::gibibytes_text(figures->solver_gibibytes));
  row.push_back(bench::gibibytes_text(figures->all_gibibytes));
  row.push_back(search && search->made ? fmt::format("{:.3f}", static_cast<double>(figures->makespan) /
                                                                   static_cast<double>(search->makespan))
                                       : "-");
  row.push_back(judged ? bench::yes_or_no(is_met(instance, *figures)) : "");
  return row;
}

/// Adds the rows of one instance. Returns whether the search met its targets and no run died.
bool add_rows(std::vector<std::vector<std::string>>& rows, const pipeline::Instance& instance, const Options& options) {
  fuse::SolveOptions solve;
  solve.threads = options.threads;
  solve.time_limit_seconds = options.seconds;
  std::optional<Figures> search;
  bool met = false;
  bool failed = false;
  for (const std::string solver : {"auto", "annealing", "list", "fused-1f1b"}) {
    auto figures = run_apart(solver, instance.problem, solve);
    failed = failed || !figures;
    if (solver == "auto" && figures) {
      search = figures;
      met = figures->made && is_met(instance, *figures);
      solve.time_limit_seconds = figures->seconds;
    }
    if (search && figures) figures->bound = search->bound;
    rows.push_back(row_of(instance, solver, figures, search));
    bench::note(fmt::format("{} {}: {} in {} s", instance.name, solver, rows.back()[3], rows.back()[6]));
  }
  return met && !failed;
}

int print_table(const std::vector<const pipeline::Instance*>& instances, const Options& options) {
  std::vector<std::vector<std::string>> rows;
  int met = 0;
  for (const pipeline::Instance* instance : instances) met += add_rows(rows, *instance, options) ? 1 : 0;
  fmt::print(
      "{} threads, at most {:g} s for the search; annealing in the same time, with as many seeds as fit; GiB: maximum "
      "resident\nmemory of the solver, then including bounds and validation of the schedule:\n{}\n",
      options.threads, options.seconds,
      report::render_table({{"instance", report::Align::left},
                            {"solver", report::Align::left},
                            {"bound"},
                            {"makespan"},
                            {"gap"},
                            {"peak"},
                            {"seconds"},
                            {"GiB"},
                            {"total"},
                            {"ratio"},
                            {"met"}},
                           rows));
  return bench::print_met(met, static_cast<int>(instances.size()));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bench::Arguments program(
      "Compares the search with annealing and constructions for many stages and micro-batches, each in its own "
      "process.");
  bench::add_search_options(program, options.seconds, options.threads);
  program.texts("instances", options.names, "bundled instances (default: scale64 scale256)");
  if (const auto code = program.parse(argc, argv)) return *code;
  if (options.names.empty()) options.names = {"scale64", "scale256"};
  const auto instances = bench::find_instances(options.names);
  if (!instances) return 2;
  bench::print_heading(argc, argv);
  return print_table(*instances, options);
}
