// Shared code of benchmarks that print tables: timed runs of solvers, and the lines around a table.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "fuse/bounds/bounds.h"
#include "fuse/solution/solution.h"
#include "pipeline/problem/instances.h"

namespace dovetail::bench {

/// Exit code if a schedule breaks a rule.
inline constexpr int exit_broken_schedule = 3;

/// A solver's schedule of a problem, validated.
struct Run {
  fuse::Solution solution;
  pipeline::Claims claims;  ///< with the proven bounds after run_search; otherwise empty
  bool fits = true;         ///< within the problem's capacity and the options' limit
  double seconds = 0;       ///< wall time of the solver
};

/// Runs the solver with this name. Returns nullopt if it does not apply, or applies only to another layout. An invalid
/// schedule ends the program. `when_solved` is called between solver and validation.
std::optional<Run> run(
    std::string_view solver, const pipeline::Problem& problem, const fuse::SolveOptions& options,
    const std::function<void()>& when_solved = [] {});

/// Runs "auto" and records what is proven of its schedule.
Run run_search(
    const pipeline::Problem& problem, const fuse::SolveOptions& options,
    const std::function<void()>& when_solved = [] {});

/// Adds the options common to all tables: --seconds and --threads of each search, with the current values as defaults.
void add_search_options(Arguments& program, double& seconds, int& threads);

/// Returns the best construction by the options' objective. The pattern does not count as a construction.
Run run_best_construction(const pipeline::Problem& problem, const fuse::SolveOptions& options);

/// Runs the annealing baseline with the same options, in the time of another run (at least one second). If a run ends
/// sooner, returns the best of as many seeds as fit. `when_solved` is called after each seed, as in run().
std::optional<Run> run_annealing_after(
    double other_seconds, const pipeline::Problem& problem, const fuse::SolveOptions& options,
    const std::function<void()>& when_solved = [] {});

/// Returns the maximum resident memory of this process so far.
double resident_gibibytes();

/// "708", in the unit of the run's problem, with a star if it does not fit; "-" without a run.
std::string makespan_text(const std::optional<Run>& run);
/// "15.6", or "-" without a run.
std::string peak_text(const std::optional<Run>& run);
/// "makespan, peak", "makespan" or "-": the figures proven optimal.
std::string optimal_text(const Run& run);
/// "1.042": the run's makespan over the makespan of `base`; "-" without a run.
std::string ratio_text(const std::optional<Run>& run, const Run& base);
/// The same for the peaks.
std::string peak_ratio_text(const std::optional<Run>& run, const Run& base);
std::string seconds_text(double seconds);
std::string gibibytes_text(double gibibytes);
/// "3.14%": gap from `bound` to `makespan`; "-" if no bound is known.
std::string gap_text(std::int64_t makespan, std::int64_t bound);
std::string yes_or_no(bool value);

/// Returns the instances of these names. If one is unknown, prints a message and returns nullopt.
std::optional<std::vector<const pipeline::Instance*>> find_instances(const std::vector<std::string>& names);

/// Prints the machine, the compiler and the command at the top of a table.
void print_heading(int count, char** arguments);

/// Prints a progress line for a row or run to stderr.
void note(const std::string& text);

/// Prints "met: 11 of 12". Returns the exit code: 0 if all are met, otherwise 1.
int print_met(int met, int all);

}  // namespace dovetail::bench
