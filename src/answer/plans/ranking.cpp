#include "answer/plans/ranking.h"

#include <utility>

#include "answer/plans/job_input.h"
#include "answer/question/processes.h"
#include "parallel/agreement.h"
#include "plan/job_canonical.h"

namespace dovetail::answer {
namespace {

/// All that a search needs.
struct Search {
  predict::Scenario scenario;
  planner::RankOptions options;
};

base::Result<Search> read(const RankingRequest& request, const Watch& watch) {
  DOVETAIL_TRY(predict::Scenario scenario, read_scenario(request.job, watch));
  tell_label(watch, scenario.job.name);
  DOVETAIL_CHECK(tell_read(watch));
  const std::vector<std::string>& placements =
      request.placements.empty() ? scenario.job.placements : request.placements;
  DOVETAIL_TRY(planner::RankOptions options, rank_options(request.search, placements, watch));
  options.shown = static_cast<std::size_t>(request.shown);
  options.simulated = static_cast<std::size_t>(request.simulated);
  return Search{std::move(scenario), std::move(options)};
}

/// The same for one of several processes; all end alike.
base::Result<Search> read_as_one_of(const parallel::Exchange& exchange, const RankingRequest& request,
                                    const Watch& watch) {
  base::Result<Search> search = read(request, watch);
  DOVETAIL_CHECK(parallel::agree_on_input(
      exchange, search.ok() ? base::Result<std::string>(plan::canonical_job(search->scenario.job)) : search.error(),
      "another job"));
  search->options.search.exchange = &exchange;
  if (!request.search.budget.threads) search->options.search.threads = 1;
  note_idle_processes(exchange, search->options.search.chains, watch);
  return search;
}

Outcome outcome_of(const planner::Ranking& ranking, const Watch& watch) {
  if (ranking.plans.empty()) return Outcome::infeasible;
  // Any of the processes may have been asked to stop.
  if (ranking.search && ranking.search->stopped_by == pipeline::StoppedBy::interrupt) return Outcome::interrupted;
  return unless_interrupted(watch, Outcome::done);
}

}  // namespace

base::Result<RankingAnswer> ask(const RankingRequest& request, const Watch& watch) {
  DOVETAIL_TRY(Search search,
               request.exchange != nullptr ? read_as_one_of(*request.exchange, request, watch) : read(request, watch));
  RankingAnswer answer{std::move(search.scenario), {}, {}};
  const plan::Job& job = answer.scenario.job;
  const parallel::Cancellation stop(watch.cancellation, request.search.budget.time_limit);
  answer.scenario.cancellation = &stop;
  if (request.on_better) search.options.on_better = [&](const plan::Plan& plan) { request.on_better(plan, job); };
  auto ranking = planner::rank_plans(answer.scenario, search.options);
  if (!ranking.ok()) return at_input(std::move(ranking).error(), request.job);
  answer.ranking = std::move(ranking).value();
  answer.too_many_samples = search.options.simulated > 0 && planner::playable(job, search.options.simulated) == 0;
  answer.flips = planner::find_flips(answer.scenario, answer.ranking, search.options.search.threads);
  answer.all_inputs_tried = !answer.scenario.is_stopped();
  answer.outcome = outcome_of(answer.ranking, watch);
  answer.scenario.cancellation = nullptr;
  return answer;
}

}  // namespace dovetail::answer
