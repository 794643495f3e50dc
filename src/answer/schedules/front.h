// The front between makespan and peak activation: the schedules of a problem that no other found one beats in both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/question/section.h"
#include "answer/schedules/asked.h"
#include "answer/schedules/schedule.h"
#include "answer/schedules/search_options.h"
#include "fuse/pareto.h"
#include "fuse/solve.h"

namespace dovetail::answer {

struct FrontRequest {
  Input problem;
  std::optional<Input> from = std::nullopt;
  ScheduleSearchOptions search = {};
  bool peak_bound =
      true;  ///< whether the bound on the peak is worked out between the schedules, too: JSON and pictures show it
  const parallel::Exchange* exchange = nullptr;  ///< processes that share the chains out
};

/// The front that `request` asks for where its objective is Objective::pareto; an Error for an option that no front
/// has.
base::Result<FrontRequest> front_of(const ScheduleRequest& request);

/// A schedule of the front with what is proven of it.
struct FrontSchedule {
  fuse::Solved solved;
  base::Ticks makespan_bound;  ///< of any schedule with at most its peak
  base::Memory peak_bound;     ///< of any schedule that ends by its makespan

  const pipeline::Evaluation& evaluation() const { return solved.solution.evaluation; }
  /// Whether no schedule is shorter with at most this peak, or lower by this makespan.
  bool shortest() const { return evaluation().makespan == makespan_bound; }
  bool lowest() const { return evaluation().peak_activation == peak_bound; }
};

/// A construction that the front is shown beside.
struct ReferenceSchedule {
  std::string solver;
  base::Ticks makespan;
  base::Memory peak;
  bool fits = true;
  bool is_baseline = false;
};

struct FrontAnswer {
  Asked asked;
  std::optional<Impossible> impossible;  ///< where no schedule fits, and none was searched; else:
  /// By rising makespan and falling peak; one that does not fit, where none was found that does.
  std::vector<FrontSchedule> schedules;
  std::vector<ReferenceSchedule> references;
  std::vector<fuse::PeakBoundStep> peak_bound;  ///< over the makespans of the schedules, where it was asked for
  double seconds = 0;
  double iterations_per_second = 0;
  std::vector<std::string> written{};  ///< where it is, or the schedule that was picked: set by who writes it
  Outcome outcome = Outcome::done;

  /// Another process was lost: with all there might have been a better front.
  std::optional<base::Error> lost_process() const {
    return impossible ? std::nullopt : schedules.front().solved.solution.lost_process;
  }
};

/// Searches the front, and makes the constructions beside it; a time limit is that of both. Errors of what is read;
/// with an `exchange` all processes end alike.
base::Result<FrontAnswer> ask(const FrontRequest& request, const Watch& watch);

/// The table of the front; or why there is none.
Sections sections(const FrontAnswer& answer);
/// A dovetail/pareto-report@1 object; where no schedule fits the dovetail/schedule-report@1 object that says so.
std::string to_json(const FrontAnswer& answer);

/// The front as a dovetail/pareto@1 file: each of its schedules is a whole dovetail/schedule@1.
std::string front_file(const FrontAnswer& answer);

}  // namespace dovetail::answer
