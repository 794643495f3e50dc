// Explains why a plan is not the best or does not fit, and which changes would help.
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
  std::optional<Input> plan = std::nullopt;  ///< plan to explain; nullopt: the plan of the trainer's configuration
  int shown = 10;                            ///< max number of changes in the answer
  PlanSearchOptions search = {};
};
template <std::same_as<ExplanationRequest> T>
auto options_of(const T*) {
  return options<T>(option("JOB", &T::job, JobFile{}, job_file_help),
                    option("plan", &T::plan, File{}, "plan to explain (default: plan of the trainer's configuration)"),
                    option("top", &T::shown, Count{1, 1000}, "max number of changes to show (default {})"),
                    group(&T::search));
}

struct ExplanationAnswer {
  predict::Scenario scenario;
  plan::Plan plan;
  planner::Explanation explanation;  ///< at most `shown` changes
  Outcome outcome = Outcome::done;
};

/// Errors: input that cannot be read, a job file if the request has no plan, and errors of planner::explain. The
/// outcome is infeasible if no plan that fits is found.
base::Result<ExplanationAnswer> answer_to(const ExplanationRequest& request, const Callbacks& callbacks);

/// Memory limit, useful changes, and time lost compared with the best plan.
Sections sections(const ExplanationAnswer& answer);
/// A dovetail/explain@2 object.
std::string to_json(const ExplanationAnswer& answer);

}  // namespace dovetail::answer
