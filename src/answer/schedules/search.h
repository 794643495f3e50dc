// Searches for schedules: solvers by name, options of requests, and progress.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "answer/question/budget.h"
#include "answer/question/callbacks.h"
#include "answer/question/option.h"
#include "base/quantity.h"
#include "base/result.h"
#include "fuse/solution/solution.h"
#include "fuse/solver.h"
#include "pipeline/problem/problem.h"

namespace dovetail::answer {

/// Finds a solver by name. For an unknown name, the Error lists all solvers and suggests a similar one.
base::Result<const fuse::Solver*> solver_named(std::string_view name);

/// Returns the default solver, the last one in the registry. It runs several others and returns their best result.
const fuse::Solver& default_solver();

/// Lists the solvers with their summaries, one per line.
std::string list_of_solvers();

/// Describes a solver: "annealing, seed 1, 4 chains x 120000 iterations". Omits values that were not recorded.
std::string describe(const pipeline::SolverRecord& solver);
/// Describes the solver of a solution, with the reason why its search stopped.
std::string describe_solver(const fuse::Solution& solution);

inline constexpr const char* memory_cap_help = "max memory per device, including resident memory";
inline constexpr const char* robust_help = "weight of the 95th-percentile makespan, in percent (default {})";

struct ScheduleSearchOptions {
  SearchBudget budget{.chains = fuse::SolveOptions{}.chains, .seed = fuse::SolveOptions{}.seed};
  std::optional<base::Memory> memory_cap = std::nullopt;
};
template <std::same_as<ScheduleSearchOptions> T>
auto options_of(const T*) {
  return options<T>(group(&T::budget), option("memory-cap", &T::memory_cap, Amount{}, memory_cap_help));
}

/// Converts to solver options, without start, cancellation, other processes and progress.
fuse::SolveOptions solve_options(const ScheduleSearchOptions& search);

/// Parses --deadline in the problem's unit; nullopt if it is not given.
base::Result<std::optional<base::Ticks>> deadline_of(const std::optional<std::string>& text, base::TimeUnit unit);

/// Returns the time limit plus a grace period, in seconds; nullopt without a limit. Work that includes a search is
/// cancelled at that time. The search itself ends earlier: it plans a number of iterations that fits within the limit,
/// and stops at the limit if they take longer. Only a search that completes its planned iterations can be repeated.
std::optional<double> with_grace_period(std::optional<double> time_limit_seconds);

/// Returns the fields of a progress line, with ranks for fit_fields. A line of 80 columns has space for the makespan
/// with its `bound` and gap, the speed and the time left. Wider lines also show the peak, the phase of the search,
/// `peak_bound` and the finished share, in this order of priority.
std::vector<ProgressField> progress_fields(const fuse::Progress& progress, base::Ticks bound,
                                           std::optional<base::Memory> peak_bound, base::TimeUnit unit);

/// Forwards the progress of a search to Callbacks.
class SearchProgress {
 public:
  /// `bound` is the lower bound on the makespan of `problem`. `callbacks` and `problem` must outlive this object.
  SearchProgress(const Callbacks& callbacks, const pipeline::Problem& problem, base::Ticks bound);

  void report(const fuse::Progress& progress);
  /// Returns the speed that was reported last; 0 if unknown.
  double iterations_per_second() const { return iterations_per_second_; }

 private:
  std::optional<base::Memory> peak_bound(base::Ticks makespan);

  const Callbacks& callbacks_;
  const pipeline::Problem& problem_;
  base::Ticks bound_;
  bool has_peak_bound_;
  std::optional<base::Memory> peak_bound_;  // for peak_bound_makespan_
  base::Ticks peak_bound_makespan_;
  double iterations_per_second_ = 0;
};

}  // namespace dovetail::answer
