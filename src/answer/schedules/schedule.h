// One schedule of a problem: what it costs, beside what no schedule can beat.
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "answer/question/section.h"
#include "answer/schedules/asked.h"
#include "answer/schedules/search_options.h"
#include "answer/schedules/solvers.h"
#include "fuse/solution/variation.h"
#include "fuse/solve.h"

namespace dovetail::answer {

/// What comes first. A front is a question of its own (front.h): front_of makes its request.
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
  std::optional<std::string> deadline = std::nullopt;  ///< in the problem's unit
  std::optional<Input> from = std::nullopt;
  ScheduleSearchOptions search = {};
  const parallel::Exchange* exchange = nullptr;  ///< processes that share the chains out
  std::function<void(const pipeline::Schedule&)> on_better =
      {};  ///< the best so far that does what is asked; as Watch's callbacks
};
template <std::same_as<ScheduleRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("PROBLEM", &T::problem, File{"PROBLEM"},
             "problem file, '-' for standard input, or a bundled instance (see dovetail instances)"),
      option("solver", &T::solver, Words{"SOLVER"},
             "how to make it (default {}: " + std::string(default_solver().summary) + ")"),
      option("objective", &T::objective, Choice{},
             "what comes first (default {}: the least makespan, then the least peak at it; memory: the least peak, "
             "then the least makespan; pareto: the whole front between the two)"),
      option("robust", &T::robustness_percent, Count{0, 100}, robust_help),
      option("deadline", &T::deadline, Words{"TIME"},
             "find the least peak among the schedules that end by TIME, in the problem's unit"),
      option("from", &T::from, File{}, "start the search from this schedule of the problem: never worse than it"),
      group(&T::search), unlisted(&T::exchange), unlisted(&T::on_better));
}

/// What is proven, or measured, of what was asked for, beyond the bounds of the two figures.
struct ScheduleRemarks {
  /// No schedule that ends by the deadline has less; absent where none is proven to exist.
  std::optional<base::Memory> peak_at_deadline;
  std::optional<base::Ticks> makespan_at_peak;  ///< no schedule with at most this peak is shorter
  std::optional<fuse::Variation> varied;        ///< the makespan when durations vary as robustness weighs it
};

struct ScheduleAnswer {
  Asked asked;
  std::string solver;                    ///< that was asked for
  std::optional<Impossible> impossible;  ///< where no schedule can do what is asked, and none was searched
  /// Else: what was found; the outcome is infeasible where it does not fit, or is late.
  std::optional<fuse::Solved> solved;
  ScheduleRemarks remarks;
  double iterations_per_second = 0;    ///< of the search; 0 where it told none
  std::vector<std::string> written{};  ///< where the schedule is: set by who writes it
  Outcome outcome = Outcome::done;

  /// Another process was lost: with all there might have been a better schedule.
  std::optional<base::Error> lost_process() const { return solved ? solved->solution.lost_process : std::nullopt; }
};

/// Errors of what is read and of a solver that cannot be used; with an `exchange` all processes end alike.
base::Result<ScheduleAnswer> ask(const ScheduleRequest& request, const Watch& watch);

/// What the schedule costs beside its bounds; or why there is none that does what is asked.
Sections sections(const ScheduleAnswer& answer);
/// A dovetail/schedule-report@1 object.
std::string to_json(const ScheduleAnswer& answer);

}  // namespace dovetail::answer
