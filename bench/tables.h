// What the benchmarks that print tables share: runs of solvers with their times, and the lines around a table.
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

/// What a program ends with where a schedule breaks a rule.
inline constexpr int exit_broken_schedule = 3;

/// A solver's schedule of a problem, validated.
struct Run {
  fuse::Solution solution;
  pipeline::Claims claims;  ///< with the proven bounds, of run_search; else empty
  bool fits = true;         ///< in the problem's capacity and the options' cap
  double seconds = 0;       ///< wall time of the solver
};

/// Runs the solver of that name; nothing where it does not apply, or only to another layout. A schedule that breaks a
/// rule ends the program. `when_solved` is called between solver and validation.
std::optional<Run> run(
    std::string_view solver, const pipeline::Problem& problem, const fuse::SolveOptions& options,
    const std::function<void()>& when_solved = [] {});

/// Runs "auto", and says what is proven of its schedule.
Run run_search(
    const pipeline::Problem& problem, const fuse::SolveOptions& options,
    const std::function<void()>& when_solved = [] {});

/// The options that all tables have: --seconds and --threads of each search, with the defaults that the two hold.
void add_search_options(Arguments& program, double& seconds, int& threads);

/// The best of all constructions (those that make their schedule by rule: not the pattern) by the options' objective.
Run run_best_construction(const pipeline::Problem& problem, const fuse::SolveOptions& options);

/// The annealing baseline in the time that another run took (at least one second), else with the same options: where it
/// ends sooner, the best of as many seeds as there is time for. `when_solved` is called after each of them, as in
/// run().
std::optional<Run> run_annealing_beside(
    double other_seconds, const pipeline::Problem& problem, const fuse::SolveOptions& options,
    const std::function<void()>& when_solved = [] {});

/// The largest memory that this process held so far.
double resident_gibibytes();

/// "708", in the unit of the run's problem; with a star where it does not fit. "-" for no run.
std::string makespan_text(const std::optional<Run>& run);
/// "15.6", or "-" for no run.
std::string peak_text(const std::optional<Run>& run);
/// "makespan, peak", "makespan" or "-": what is proven to be optimal.
std::string optimal_text(const Run& run);
/// "1.042": `time` over that of `base`; "-" for no run.
std::string ratio_text(const std::optional<Run>& run, const Run& base);
/// The same of the peaks.
std::string peak_ratio_text(const std::optional<Run>& run, const Run& base);
/// "12.3".
std::string seconds_text(double seconds);
/// "1.84".
std::string gibibytes_text(double gibibytes);
/// "3.14%": how far `makespan` is above `bound`; "-" where none is known.
std::string gap_text(std::int64_t makespan, std::int64_t bound);
std::string yes_or_no(bool value);

/// The instances of these names, or nothing, with a message, where there is none of a name.
std::optional<std::vector<const pipeline::Instance*>> find_instances(const std::vector<std::string>& names);

/// Prints the machine, the compiler and the command, as every table begins.
void print_heading(int count, char** arguments);

/// Says on stderr what is done, for those who wait: a line for each row or run.
void note(const std::string& text);

/// Prints "met: 11 of 12" and gives the exit code: 0 where all are met, 1 else.
int print_met(int met, int all);

}  // namespace dovetail::bench
