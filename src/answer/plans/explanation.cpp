#include "answer/plans/explanation.h"

#include <utility>

#include "answer/plans/job_input.h"

namespace dovetail::answer {

base::Result<ExplanationAnswer> ask(const ExplanationRequest& request, const Watch& watch) {
  const parallel::Cancellation stop(watch.cancellation, request.search.budget.time_limit);
  DOVETAIL_TRY(AskedJob asked, read_asked(request.job, request.plan, watch, &stop));
  if (!asked.plan) return base::bad_input("explain needs a plan; give --plan FILE");
  DOVETAIL_CHECK(tell_read(watch));
  DOVETAIL_TRY(const planner::RankOptions options, rank_options(request.search, asked.scenario.job.placements, watch));
  auto explanation = planner::explain(asked.scenario, *asked.plan, options);
  if (!explanation.ok()) return at_input(std::move(explanation).error(), request.job);
  ExplanationAnswer answer{std::move(asked.scenario), *std::move(asked.plan), std::move(explanation).value()};
  std::vector<planner::Change>& changes = answer.explanation.changes;
  if (const auto shown = static_cast<std::size_t>(request.shown); changes.size() > shown)
    changes.erase(changes.begin() + request.shown, changes.end());
  answer.outcome = unless_interrupted(watch, answer.explanation.best ? Outcome::done : Outcome::infeasible);
  answer.scenario.cancellation = nullptr;
  return answer;
}

}  // namespace dovetail::answer
