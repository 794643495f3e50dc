#include "answer/plans/fit.h"

#include <algorithm>
#include <utility>

#include "answer/plans/job_input.h"

namespace dovetail::answer {

namespace {

FittedPlan fitted_plan(const predict::Scenario& scenario, const plan::Plan& plan) {
  return {plan, predict::estimate(scenario, plan), planner::grow_lengths(scenario, plan)};
}

/// The plan that the answer about a job refers to.
std::optional<FittedPlan> plan_of(const predict::Scenario& scenario, const planner::JobFit& fit) {
  if (const planner::RankedPlan* const fastest = fit.fastest())
    return FittedPlan{fastest->plan, fastest->estimate, planner::grow_lengths(scenario, fastest->plan)};
  if (const auto& nearest = fit.ranking.nearest)
    return FittedPlan{nearest->plan, predict::estimate(scenario, nearest->plan), {}};
  return std::nullopt;
}

}  // namespace

std::vector<std::size_t> tasks_by_margin(const std::vector<predict::TaskMemory>& memory) {
  std::vector<std::size_t> tasks;
  for (std::size_t task = 0; task < memory.size(); ++task)
    if (memory[task].usable > 0) tasks.push_back(task);
  std::stable_sort(tasks.begin(), tasks.end(),
                   [&](std::size_t a, std::size_t b) { return memory[a].margin() < memory[b].margin(); });
  return tasks;
}

base::Result<FitAnswer> ask(const FitRequest& request, const Watch& watch) {
  const parallel::Cancellation stop(watch.cancellation, request.search.budget.time_limit);
  DOVETAIL_TRY(AskedJob asked, read_asked(request.job, request.plan, watch, &stop));
  DOVETAIL_CHECK(tell_read(watch));
  FitAnswer answer{std::move(asked.scenario), std::nullopt, std::nullopt};
  if (asked.plan) {
    answer.plan = fitted_plan(answer.scenario, *asked.plan);
  } else {
    DOVETAIL_TRY(const planner::RankOptions options,
                 rank_options(request.search, answer.scenario.job.placements, watch));
    auto fit = planner::fit_job(answer.scenario, options);
    if (!fit.ok()) return at_input(std::move(fit).error(), request.job);
    answer.job = std::move(fit).value();
    answer.plan = plan_of(answer.scenario, *answer.job);
  }
  const bool fits = answer.fit() != predict::Fit::does_not_fit;
  const Outcome outcome = fits ? Outcome::done : Outcome::infeasible;
  answer.outcome = !answer.job ? outcome : unless_interrupted(watch, outcome);
  answer.scenario.cancellation = nullptr;
  return answer;
}

}  // namespace dovetail::answer
