#include "answer/plans/explanation.h"

#include <utility>

#include "answer/plans/job_input.h"

namespace dovetail::answer {

base::Result<ExplanationAnswer> ask(const ExplanationRequest& request, const Watch& watch) {
  DOVETAIL_CHECK(check_standard_input({request.job, request.plan}));
  const parallel::Cancellation stop(watch.cancellation, request.search.budget.time_limit);
  DOVETAIL_TRY(predict::Scenario scenario, read_scenario(request.job, &stop));
  DOVETAIL_TRY(plan::Plan plan, read_plan(request.plan, scenario, watch));
  tell_label(watch, scenario.job.name);
  DOVETAIL_CHECK(tell_read(watch));
  DOVETAIL_TRY(const planner::RankOptions options, rank_options(request.search, scenario.job.placements, watch));
  auto explanation = planner::explain(scenario, plan, options);
  if (!explanation.ok()) return at_input(std::move(explanation).error(), request.job);
  ExplanationAnswer answer{std::move(scenario), std::move(plan), std::move(explanation).value()};
  std::vector<planner::Change>& changes = answer.explanation.changes;
  if (const auto shown = static_cast<std::size_t>(request.shown); changes.size() > shown)
    changes.erase(changes.begin() + request.shown, changes.end());
  answer.outcome = unless_interrupted(watch, answer.explanation.best ? Outcome::done : Outcome::infeasible);
  answer.scenario.cancellation = nullptr;
  return answer;
}

}  // namespace dovetail::answer
