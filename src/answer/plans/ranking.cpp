#include "answer/plans/ranking.h"

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/plans/job_input.h"
#include "answer/plans/ways.h"
#include "answer/question/processes.h"
#include "parallel/cancellation.h"
#include "parallel/exchange.h"
#include "plan/job.h"

namespace dovetail::answer {
namespace {

/// Ranks the plans of a request's job and ignores `allowed`. `whole`: also finds inputs that would change the choice.
using RankJob = base::Result<RankingAnswer>(const RankingRequest& request, const Watch& watch, bool whole);

/// Minimum gain of another way over the configuration, as a share of the iteration.
constexpr double min_way_gain = 0.02;

bool is_worth_it(double seconds, const TriedWay& best, bool best_is_as_it_is) {
  return !best.seconds || seconds < *best.seconds * (best_is_as_it_is ? 1 - min_way_gain : 1);
}

/// Checks that the way exists and that the trainer supports it.
base::Status check_way(int way, const std::vector<WayInput>& ways) {
  if (static_cast<std::size_t>(way) > ways.size())
    return base::bad_input(fmt::format("--way {}: must be from 1 to {}, or 0 for the fastest", way, ways.size()));
  if (way == 0 || ways[static_cast<std::size_t>(way - 1)].refusal.empty()) return {};
  return base::bad_input(fmt::format("--way {}: {}", way, ways[static_cast<std::size_t>(way - 1)].refusal));
}

/// Ranks one of several ways to run the job. Its name is added to progress labels.
base::Result<RankingAnswer> rank_way(const RankingRequest& request, const WayInput& way, std::size_t shares,
                                     const Watch& watch, RankJob& rank) {
  RankingRequest way_request = request;
  way_request.job = way.input;
  way_request.on_better = nullptr;
  if (way_request.search.budget.time_limit) *way_request.search.budget.time_limit /= static_cast<double>(shares);
  Watch quiet = watch;
  quiet.on_read = nullptr;
  quiet.on_note = nullptr;
  quiet.on_label = [&watch, &way](const std::string& label) {
    tell_label(watch, fmt::format("{}, {}", label, way.name));
  };
  return rank(way_request, quiet, false);
}

/// Tries all allowed ways to run the job. Returns the complete answer for the fastest or for the requested way. Errors:
/// input that cannot be read, and a lost process.
base::Result<RankingAnswer> rank_ways(const RankingRequest& request, const Watch& watch, RankJob& rank) {
  DOVETAIL_TRY(const trainers::Allowed allowed, allowed_of(request.allowed));
  DOVETAIL_TRY(const std::vector<WayInput> ways, way_inputs(request.job, allowed, watch));
  DOVETAIL_CHECK(check_way(request.way, ways));
  DOVETAIL_CHECK(tell_read(watch));
  // The complete answer at the end gets a share of the time, too.
  const std::size_t shares = ways.size() + 1;
  std::vector<TriedWay> tried;
  std::size_t best = 0;
  for (const WayInput& way : ways) {
    TriedWay& each = tried.emplace_back(TriedWay{way.name, std::nullopt, way.refusal});
    if (!way.refusal.empty() || parallel::is_requested(watch.cancellation)) continue;
    const base::Result<RankingAnswer> answer = rank_way(request, way, shares, watch, rank);
    if (!answer.ok() && answer.error().failure == base::Failure::lost) return answer.error();
    if (!answer.ok())
      each.refusal = answer.error().message;
    else if (answer->ranking.plans.empty())
      each.refusal = "no plan fits";
    else
      each.seconds = answer->ranking.plans.front().estimate.iteration_seconds;
    if (each.seconds && is_worth_it(*each.seconds, tried[best], best == 0)) best = tried.size() - 1;
  }
  if (request.way > 0) best = static_cast<std::size_t>(request.way - 1);
  RankingRequest chosen = request;
  chosen.job = ways[best].input;
  if (chosen.search.budget.time_limit) *chosen.search.budget.time_limit /= static_cast<double>(shares);
  Watch rest = watch;
  rest.on_read = nullptr;
  DOVETAIL_TRY(RankingAnswer answer, rank(chosen, rest, true));
  if (!answer.ranking.plans.empty()) tried[best].seconds = answer.ranking.plans.front().estimate.iteration_seconds;
  answer.ways = std::move(tried);
  answer.chosen_way = best;
  answer.switches = ways[best].changes;
  return answer;
}

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

/// As `read`, in one of several processes. All of them return the same result.
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
      // The search stopped before it tried any plan; the answer keeps the figures it has.
      if (!ranked.ok()) continue;
      ranking = *std::move(ranked);
      if (ranking.plans.empty()) continue;
      found = &ranking.plans.front();
    }
    // This search may have missed the answer's plan.
    if (at.fits && at.seconds <= found->estimate.iteration_seconds) found = &answer.ranking.plans.front();
    at.placement = name_of(found->placement);
    at.first_seconds = found == &answer.ranking.plans.front() ? at.seconds : found->estimate.iteration_seconds;
  }
  answer.open_lengths = std::move(lengths);
}

/// The RankJob for one configuration.
base::Result<RankingAnswer> rank_job(const RankingRequest& request, const Watch& watch, bool whole) {
  DOVETAIL_TRY(Search search,
               request.exchange != nullptr ? read_as_one_of(*request.exchange, request, watch) : read(request, watch));
  const parallel::Cancellation stop(watch.cancellation, request.search.budget.time_limit);
  search.scenario.cancellation = &stop;
  const predict::Scenario at_cap = search.scenario;
  const planner::RankOptions all_options = search.options;
  if (search.has_open_lengths) {
    tell_label(watch, label_at(at_cap, answered_part));
    search.scenario = at_part_of_cap(at_cap, answered_part);
    search.options = planner::with_share_of_time(all_options, at_cap, open_parts.size());
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
      look_at_other_lengths(at_cap, all_options, answer, watch);
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
