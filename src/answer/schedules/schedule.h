// One schedule of a problem, with its costs and their lower bounds.
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "answer/question/section.h"
#include "answer/schedules/schedule_question.h"
#include "answer/schedules/search.h"
#include "fuse/solution/variation.h"
#include "fuse/solve.h"

namespace dovetail::answer {

/// Primary objective. `pareto` is a separate question (front.h): front_of converts the request.
enum class Objective { makespan, memory, pareto };
constexpr auto names_of(Objective) {
  return std::array{base::EnumName{"makespan", Objective::makespan}, base::EnumName{"memory", Objective::memory},
                    base::EnumName{"pareto", Objective::pareto}};
}

struct ScheduleRequest {
  Input problem;
  std::string solver{default_solver().name};
  Objective objective = Objective::makespan;
  int robustness_percent = fuse::SolveOptions{}.robustness_percent;
  std::optional<std::string> deadline = std::nullopt;  ///< a time in the problem's unit
  std::optional<Input> from = std::nullopt;            ///< schedule to start the search from
  ScheduleSearchOptions search = {};
  const parallel::Exchange* exchange = nullptr;  ///< processes that share the chains; null: none
  std::function<void(const pipeline::Schedule&)> on_better =
      {};  ///< receives the best schedule so far that satisfies the request, on the calling thread
};
template <std::same_as<ScheduleRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("PROBLEM", &T::problem, File{"PROBLEM"}, "problem file, bundled instance, or '-' for stdin"),
      option("solver", &T::solver, String{"SOLVER"}, "solver (default {}: the best result of several)"),
      option("objective", &T::objective, Choice{}, "primary objective (default {}); pareto: front of both"),
      option("robust", &T::robustness_percent, Count{0, 100}, robust_help),
      option("deadline", &T::deadline, String{"TIME"},
             "find the lowest peak with makespan <= TIME (problem's time unit)"),
      option("from", &T::from, File{}, "schedule to start the search from; the result is never worse"),
      group(&T::search), unlisted(&T::exchange), unlisted(&T::on_better));
}

/// Further results of a schedule request.
struct ScheduleRemarks {
  /// Lower bound on the peak of schedules that meet the deadline. nullopt without a deadline, or if it is proven that
  /// no schedule meets it.
  std::optional<base::Memory> peak_at_deadline;
  /// Lower bound on the makespan of schedules whose peak is at most the answer's. Set if the objective is memory and
  /// there is no deadline.
  std::optional<base::Ticks> makespan_at_peak;
  /// Makespan under random variations of the durations. Set if robustness_percent is above 0.
  std::optional<fuse::Variation> varied;
};

struct ScheduleAnswer {
  ScheduleQuestion question;
  std::string solver;                    ///< as requested
  std::optional<Impossible> impossible;  ///< set if no schedule can satisfy the request; then nothing is searched
  /// The result, unless `impossible` is set. The outcome is infeasible if the result does not fit or misses the
  /// deadline.
  std::optional<fuse::Solved> solved;
  ScheduleRemarks remarks;
  double iterations_per_second = 0;    ///< speed of the search; 0 if unknown
  std::vector<std::string> written{};  ///< paths of the files that the caller wrote
  Outcome outcome = Outcome::done;

  /// Returns the Error of a lost process, whose part of the search is missing; nullopt if all processes finished.
  std::optional<base::Error> lost_process() const { return solved ? solved->solution.lost_process : std::nullopt; }
};

/// Errors: input that cannot be read, invalid options, and a solver that cannot be used. With an `exchange`, all
/// processes return the same answer or Error.
base::Result<ScheduleAnswer> answer_to(const ScheduleRequest& request, const Callbacks& callbacks);

/// Costs and bounds of the schedule, or why no schedule that satisfies the request exists or was found.
Sections sections(const ScheduleAnswer& answer);
/// A dovetail/schedule-report@1 object.
std::string to_json(const ScheduleAnswer& answer);

}  // namespace dovetail::answer
