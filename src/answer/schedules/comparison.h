// Compares the schedules that several solvers produce for one problem.
#pragma once

#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <vector>

#include "answer/question/section.h"
#include "answer/schedules/schedule_question.h"
#include "answer/schedules/search.h"
#include "fuse/solution/variation.h"
#include "fuse/solve.h"

namespace dovetail::answer {

struct ComparisonRequest {
  Input problem;
  std::vector<std::string> solvers = {};  ///< empty: the registry's default set
  bool all = false;                       ///< run every solver; `solvers` must be empty
  fuse::Objective objective = fuse::SolveOptions{}.objective;
  int robustness_percent = fuse::SolveOptions{}.robustness_percent;
  ScheduleSearchOptions search = {};
  int draws = fuse::VariationOptions{}.draws;
};
template <std::same_as<ComparisonRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("PROBLEM", &T::problem, File{"PROBLEM"}, "problem file, bundled instance, or '-' for stdin"),
      option("solver", &T::solvers, String{"SOLVER"}, "solver to run (repeatable; default: a selection)"),
      option("all", &T::all, Flag{}, "run every solver, including those left out by default"),
      option("objective", &T::objective, Choice{}, "primary objective; the other one breaks ties (default {})"),
      option("robust", &T::robustness_percent, Count{0, 100}, robust_help), group(&T::search),
      option("draws", &T::draws, Count{1, 1'000'000}, "number of random draws of durations (default {})"));
}

/// Maximum random variations of durations, in thousandths, with which each schedule is tested.
inline constexpr std::array variations{50, 100};

/// Result of one solver.
struct ComparedSolver {
  std::string solver;  ///< name as requested; the solution's record may name another solver that it delegated to
  fuse::Solved solved;
  std::array<fuse::Variation, variations.size()> varied;
};

/// Solver that cannot schedule the problem.
struct InapplicableSolver {
  std::string solver;
  std::string why;
};

struct ComparisonAnswer {
  ScheduleQuestion question;
  int draws = 0;
  std::string baseline_name;            ///< solver that speed-ups are relative to
  std::optional<base::Ticks> baseline;  ///< makespan of that solver; nullopt if it does not apply or was not run
  std::vector<ComparedSolver> rows;     ///< in the order of the request or, if it names none, of the registry
  std::vector<InapplicableSolver> inapplicable;
  bool complete = true;  ///< false: some solvers were not run, or their results are incomplete and left out
  Outcome outcome = Outcome::done;

  /// Speed-up over the baseline. nullopt if there is no baseline or the makespan is 0.
  std::optional<double> speed_up(const ComparedSolver& row) const;
};

/// Runs the solvers, which share the time limit. Errors: input that cannot be read, invalid options,
/// and no applicable solver.
base::Result<ComparisonAnswer> answer_to(const ComparisonRequest& request, const Callbacks& callbacks);

/// Table with a row per solver, and remarks.
Sections sections(const ComparisonAnswer& answer);
/// A dovetail/compare@1 object.
std::string to_json(const ComparisonAnswer& answer);

}  // namespace dovetail::answer
