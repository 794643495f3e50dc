// The schedules that solvers make of one problem, beside each other.
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <vector>

#include "answer/question/section.h"
#include "answer/schedules/asked.h"
#include "answer/schedules/search_options.h"
#include "fuse/solution/variation.h"
#include "fuse/solve.h"

namespace dovetail::answer {

struct ComparisonRequest {
  Input problem;
  std::vector<std::string> solvers = {};  ///< none: those that the registry has for comparisons
  bool all = false;                       ///< in place of those every one
  fuse::Objective objective = fuse::SolveOptions{}.objective;
  int robustness_percent = fuse::SolveOptions{}.robustness_percent;
  ScheduleSearchOptions search = {};
  int draws = fuse::VariationOptions{}.draws;
};
template <std::same_as<ComparisonRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("PROBLEM", &T::problem, File{"PROBLEM"}, "problem file, '-' for standard input, or a bundled instance"),
      option("solver", &T::solvers, Words{"SOLVER"}, "run this one only; may be repeated"),
      option("all", &T::all, Flag{}, "run every solver, those too that are not shown otherwise"),
      option("objective", &T::objective, Choice{},
             "what comes first (default {}: the least makespan, then the least peak at it; memory: the least peak, "
             "then the least makespan)"),
      option("robust", &T::robustness_percent, Count{0, 100}, robust_help), group(&T::search),
      option("draws", &T::draws, Count{1, 1'000'000}, "draws of varied durations (default {})"));
}

/// The variations of durations that schedules are tried with, in thousandths.
inline constexpr std::array variations{50, 100};

/// What one solver made.
struct ComparedSolver {
  std::string solver;  ///< the one that was run; the record of its answer may name one that it chose
  fuse::Solved solved;
  std::array<fuse::Variation, variations.size()> varied;
};

/// A solver that has no schedule of the problem.
struct Refusal {
  std::string solver;
  std::string why;
};

struct ComparisonAnswer {
  Asked asked;
  int draws = 0;
  std::string baseline_name;            ///< the solver that speed-ups are counted against
  std::optional<base::Ticks> baseline;  ///< its makespan
  std::vector<ComparedSolver> rows;     ///< in the order of the solvers that were asked for, else of the registry
  std::vector<Refusal> refusals;
  bool complete = true;  ///< solvers that are missing were not run where it is not
  Outcome outcome = Outcome::done;

  /// Nothing where there is no baseline, or the schedule takes no time.
  std::optional<double> speed_up(const ComparedSolver& row) const;
};

/// Runs the solvers, which share the time. Errors of what is read, and where none of them has a schedule.
base::Result<ComparisonAnswer> ask(const ComparisonRequest& request, const Watch& watch);

/// A table with a row for each solver, and remarks.
Sections sections(const ComparisonAnswer& answer);
/// A dovetail/compare@1 object.
std::string to_json(const ComparisonAnswer& answer);

}  // namespace dovetail::answer
