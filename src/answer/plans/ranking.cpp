#include "answer/plans/ranking.h"

#include <fmt/format.h>

#include <utility>

#include "answer/plans/job_input.h"
#include "answer/plans/ranking_ways.h"
#include "answer/question/processes.h"
#include "parallel/exchange.h"
#include "plan/job.h"

namespace dovetail::answer {
namespace {

/// Input of a search.
struct Search {
  predict::Scenario scenario;
  planner::RankOptions options;
  bool has_open_lengths = false;
};

base::Result<Search> read(const RankingRequest& request, const Watch& watch) {
  DOVETAIL_TRY(AskedJob asked, read_asked(request.job, std::nullopt, watch));
  predict::Scenario& scenario = asked.scenario;
  DOVETAIL_CHECK(tell_read(watch));
  const std::vector<std::string>& placements =
      request.placements.empty() ? scenario.job.placements : request.placements;
  DOVETAIL_TRY(planner::RankOptions options, rank_options(request.search, placements, watch));
  options.shown = static_cast<std::size_t>(request.shown);
  options.simulated = static_cast<std::size_t>(request.simulated);
  return Search{std::move(scenario), std::move(options), asked.has_open_lengths()};
}

/// The same for one of several processes; all return alike.
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
  // Any of the processes may have received a request to stop.
  if (ranking.search && ranking.search->stopped_by == pipeline::StoppedBy::interrupt) return Outcome::interrupted;
  return unless_interrupted(watch, Outcome::done);
}

std::string label_at(const predict::Scenario& scenario, double part) {
  return fmt::format("{}, mean response {:.0f}% of the cap", scenario.job.name, 100 * part);
}

/// Searches for the same job at other response lengths, and compares the first plan with the plans found there.
/// REQUIRES: the answer has a plan.
void look_at_other_lengths(const predict::Scenario& scenario, const planner::RankOptions& options,
                           RankingAnswer& answer, const Watch& watch) {
  const plan::Plan& first = answer.ranking.plans.front().plan;
  OpenLengths lengths = plan_at_parts(scenario, first);
  std::size_t left = lengths.parts.size() - 1;
  for (PlanAtPart& at : lengths.parts) {
    const planner::RankedPlan* found = &answer.ranking.plans.front();
    planner::Ranking ranking;
    if (at.part != answered_part) {
      tell_label(watch, label_at(scenario, at.part));
      const predict::Scenario other = at_part_of_cap(scenario, at.part);
      auto ranked = planner::rank_plans(other, planner::with_share_of_time(options, scenario, left--));
      // The search was stopped before it tried any plan; the answer keeps the known figures.
      if (!ranked.ok()) continue;
      ranking = *std::move(ranked);
      if (ranking.plans.empty()) continue;
      found = &ranking.plans.front();
    }
    // A search may miss plans that another one found.
    if (at.fits && at.seconds <= found->estimate.iteration_seconds) found = &answer.ranking.plans.front();
    at.placement = name_of(found->placement);
    at.first_seconds = found == &answer.ranking.plans.front() ? at.seconds : found->estimate.iteration_seconds;
  }
  answer.open_lengths = std::move(lengths);
}

/// Ranks the plans of one configuration, as specified by RankJob.
base::Result<RankingAnswer> rank_job(const RankingRequest& request, const Watch& watch, bool whole) {
  DOVETAIL_TRY(Search search,
               request.exchange != nullptr ? read_as_one_of(*request.exchange, request, watch) : read(request, watch));
  const parallel::Cancellation stop(watch.cancellation, request.search.budget.time_limit);
  search.scenario.cancellation = &stop;
  const predict::Scenario said = search.scenario;
  const planner::RankOptions all_options = search.options;
  if (search.has_open_lengths) {
    tell_label(watch, label_at(said, answered_part));
    search.scenario = at_part_of_cap(said, answered_part);
    search.options = planner::with_share_of_time(all_options, said, open_parts.size());
  }
  RankingAnswer answer{std::move(search.scenario), {}, {}};
  const plan::Job& job = answer.scenario.job;
  if (request.on_better) search.options.on_better = [&](const plan::Plan& plan) { request.on_better(plan, job); };
  auto ranking = planner::rank_plans(answer.scenario, search.options);
  if (!ranking.ok()) return at_input(std::move(ranking).error(), request.job);
  answer.ranking = std::move(ranking).value();
  answer.too_many_samples = search.options.simulated > 0 && planner::playable(job, search.options.simulated) == 0;
  if (whole) {
    answer.flips = planner::find_flips(answer.scenario, answer.ranking, search.options.search.threads);
    answer.all_inputs_tried = !answer.scenario.is_stopped();
    if (search.has_open_lengths && !answer.ranking.plans.empty())
      look_at_other_lengths(said, all_options, answer, watch);
  }
  answer.outcome = outcome_of(answer.ranking, watch);
  answer.scenario.cancellation = nullptr;
  return answer;
}

}  // namespace

base::Result<RankingAnswer> ask(const RankingRequest& request, const Watch& watch) {
  if (request.allowed.empty() && request.way > 0)
    return base::bad_input("--way needs --allow, which defines the ways to run the job");
  return request.allowed.empty() ? rank_job(request, watch, true) : rank_ways(request, watch, rank_job);
}

}  // namespace dovetail::answer
