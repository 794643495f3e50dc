// Why a plan is not the best, or why it does not fit, and what to change.
#pragma once

#include <concepts>
#include <optional>
#include <string>

#include "answer/plans/search_options.h"
#include "answer/question/section.h"
#include "planner/advice/explain.h"

namespace dovetail::answer {

struct ExplanationRequest {
  JobInput job;
  std::optional<Input> plan = std::nullopt;  ///< needed, unless the job comes with one
  int shown = 10;
  PlanSearchOptions search = {};
};
template <std::same_as<ExplanationRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, JobFile{}, job_file_help),
      option("plan", &T::plan, File{}, "the plan, a dovetail/plan@1 file (default: that of a trainer's configuration)"),
      option("top", &T::shown, Count{1, 1000}, "how many changes to show at most"), group(&T::search));
}

struct ExplanationAnswer {
  predict::Scenario scenario;
  plan::Plan plan;
  planner::Explanation explanation;  ///< with no more changes than were asked for
  Outcome outcome = Outcome::done;
};

/// Errors of what is read, and those of planner::explain. It is infeasible where no plan was found that fits.
base::Result<ExplanationAnswer> ask(const ExplanationRequest& request, const Watch& watch);

/// What sets the limit, what can be changed, and where time is lost against the best plan.
Sections sections(const ExplanationAnswer& answer);
/// A dovetail/explain@2 object.
std::string to_json(const ExplanationAnswer& answer);

}  // namespace dovetail::answer
