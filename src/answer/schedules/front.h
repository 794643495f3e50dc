// Pareto front of makespan and peak activation: schedules that no other found schedule matches or beats in both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/question/section.h"
#include "answer/schedules/schedule.h"
#include "answer/schedules/schedule_question.h"
#include "answer/schedules/search.h"
#include "fuse/pareto.h"
#include "fuse/solve.h"

namespace dovetail::answer {

struct FrontRequest {
  Input problem;
  std::optional<Input> from = std::nullopt;  ///< schedule to start the search from
  ScheduleSearchOptions search = {};
  bool peak_bound = true;                        ///< also compute FrontAnswer::peak_bound, for JSON and pictures
  const parallel::Exchange* exchange = nullptr;  ///< processes that share the chains; null: none
};

/// Converts a schedule request to a request for its front. An option that a front does not support is an Error.
/// REQUIRES: the objective is pareto.
base::Result<FrontRequest> front_of(const ScheduleRequest& request);

/// Schedule of the front with its bounds.
struct FrontSchedule {
  fuse::Solved solved;
  base::Ticks makespan_bound;  ///< lower bound on the makespan of schedules with at most this schedule's peak
  base::Memory peak_bound;     ///< lower bound on the peak of schedules with at most this schedule's makespan

  const pipeline::Evaluation& evaluation() const { return solved.solution.evaluation; }
  /// Whether it is proven that no schedule with at most this peak has a shorter makespan.
  bool shortest() const { return evaluation().makespan == makespan_bound; }
  /// Whether it is proven that no schedule with at most this makespan has a lower peak.
  bool lowest() const { return evaluation().peak_activation == peak_bound; }
};

/// Schedule of a constructive solver, for comparison with the front.
struct ReferenceSchedule {
  std::string solver;
  base::Ticks makespan;
  base::Memory peak;
  bool fits = true;
  bool is_baseline = false;
};

struct FrontAnswer {
  ScheduleQuestion question;
  std::optional<Impossible> impossible;  ///< set if no schedule can fit; then nothing is searched
  /// Sorted by increasing makespan and decreasing peak. If none of the schedules found fits, only the one closest to
  /// fitting.
  std::vector<FrontSchedule> schedules;
  std::vector<ReferenceSchedule> references;
  std::vector<fuse::PeakBoundStep> peak_bound;  ///< lower bound on the peak by makespan; empty unless requested
  double seconds = 0;
  double iterations_per_second = 0;
  std::vector<std::string> written{};  ///< paths of the files that the caller wrote
  Outcome outcome = Outcome::done;

  /// Returns the Error of a lost process, whose part of the search is missing; nullopt if all processes finished.
  std::optional<base::Error> lost_process() const {
    return impossible ? std::nullopt : schedules.front().solved.solution.lost_process;
  }
};

/// Searches the front and runs the constructive solvers, which share the time limit with the search. Errors: input that
/// cannot be read, and invalid options. With an `exchange`, all processes return the same answer or Error.
base::Result<FrontAnswer> answer_to(const FrontRequest& request, const Callbacks& callbacks);

/// Table of the front, or the reason why no front exists.
Sections sections(const FrontAnswer& answer);
/// A dovetail/pareto-report@1 object, or a dovetail/schedule-report@1 object if `impossible` is set.
std::string to_json(const FrontAnswer& answer);

/// The front as a dovetail/pareto@1 file with a complete dovetail/schedule@1 per schedule.
std::string front_file(const FrontAnswer& answer);

}  // namespace dovetail::answer
