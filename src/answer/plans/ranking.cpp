#include "answer/plans/ranking.h"

#include <fmt/core.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/plans/alternatives.h"
#include "answer/plans/job_input.h"
#include "answer/question/processes.h"
#include "parallel/cancellation.h"
#include "parallel/exchange.h"
#include "plan/job.h"

namespace dovetail::answer {
namespace {

/// Ranks the plans of a request's job and ignores `allowed`. `whole`: also finds inputs that would change the choice.
using RankJob = base::Result<RankingAnswer>(const RankingRequest& request, const Callbacks& callbacks, bool whole);

/// Minimum gain of an alternative over the configuration, as a share of the iteration.
constexpr double min_alternative_gain = 0.02;

bool is_worth_it(double seconds, const TriedAlternative& best, bool best_is_as_it_is) {
  return !best.seconds || seconds < *best.seconds * (best_is_as_it_is ? 1 - min_alternative_gain : 1);
}

/// Checks that the alternative exists and that the trainer supports it.
base::Status check_alternative(int alternative, const std::vector<Alternative>& alternatives) {
  if (static_cast<std::size_t>(alternative) > alternatives.size())
    return base::bad_input(
        fmt::format("--way {}: must be from 1 to {}, or 0 for the fastest", alternative, alternatives.size()));
  if (alternative == 0 || alternatives[static_cast<std::size_t>(alternative - 1)].rejection.empty()) return {};
  return base::bad_input(
      fmt::format("--way {}: {}", alternative, alternatives[static_cast<std::size_t>(alternative - 1)].rejection));
}

/// Ranks the plans of one alternative. Its name is added to progress labels.
base::Result<RankingAnswer> rank_alternative(const RankingRequest& request, const Alternative& alternative,
                                             std::size_t shares, const Callbacks& callbacks, RankJob& rank) {
  RankingRequest alternative_request = request;
  alternative_request.job = alternative.input;
  alternative_request.on_better = nullptr;
  if (alternative_request.search.budget.time_limit)
    *alternative_request.search.budget.time_limit /= static_cast<double>(shares);
  Callbacks quiet = callbacks;
  quiet.on_read = nullptr;
  quiet.on_note = nullptr;
  quiet.on_label = [&callbacks, &alternative](const std::string& label) {
    notify_label(callbacks, fmt::format("{}, {}", label, alternative.name));
  };
  return rank(alternative_request, quiet, false);
}

/// Tries all allowed alternatives. Returns the complete answer for the fastest or the requested one. Errors: input that
/// cannot be read, and a lost process.
base::Result<RankingAnswer> rank_alternatives(const RankingRequest& request, const Callbacks& callbacks,
                                              RankJob& rank) {
  DOVETAIL_TRY(const trainers::Allowed allowed, allowed_of(request.allowed));
  DOVETAIL_TRY(const std::vector<Alternative> alternatives, list_alternatives(request.job, allowed, callbacks));
  DOVETAIL_CHECK(check_alternative(request.alternative, alternatives));
  DOVETAIL_CHECK(notify_read(callbacks));
  // The complete answer at the end gets a share of the time, too.
  const std::size_t shares = alternatives.size() + 1;
  std::vector<TriedAlternative> tried;
  std::size_t best = 0;
  for (const Alternative& alternative : alternatives) {
    TriedAlternative& each =
        tried.emplace_back(TriedAlternative{alternative.name, std::nullopt, alternative.rejection});
    if (!alternative.rejection.empty() || parallel::is_requested(callbacks.cancellation)) continue;
    const base::Result<RankingAnswer> answer = rank_alternative(request, alternative, shares, callbacks, rank);
    if (!answer.ok() && answer.error().failure == base::Failure::lost) return answer.error();
    if (!answer.ok())
      each.rejection = answer.error().message;
    else if (answer->ranking.plans.empty())
      each.rejection = "no plan fits";
    else
      each.seconds = answer->ranking.plans.front().estimate.iteration_seconds;
    if (each.seconds && is_worth_it(*each.seconds, tried[best], best == 0)) best = tried.size() - 1;
  }
  if (request.alternative > 0) best = static_cast<std::size_t>(request.alternative - 1);
  RankingRequest chosen = request;
  chosen.job = alternatives[best].input;
  if (chosen.search.budget.time_limit) *chosen.search.budget.time_limit /= static_cast<double>(shares);
  Callbacks rest = callbacks;
  rest.on_read = nullptr;
  DOVETAIL_TRY(RankingAnswer answer, rank(chosen, rest, true));
  if (!answer.ranking.plans.empty()) tried[best].seconds = answer.ranking.plans.front().estimate.iteration_seconds;
  answer.alternatives = std::move(tried);
  answer.chosen_alternative = best;
  answer.switches = alternatives[best].changes;
  return answer;
}

/// Input of a search.
struct Search {
  predict::Scenario scenario;
  planner::RankOptions options;
  bool has_open_lengths = false;
};

base::Result<Search> read(const RankingRequest& request, const Callbacks& callbacks) {
  DOVETAIL_TRY(LoadedJob loaded, load_job(request.job, std::nullopt, callbacks));
  predict::Scenario& scenario = loaded.scenario;
  DOVETAIL_CHECK(notify_read(callbacks));
  const std::vector<std::string>& placements =
      request.placements.empty() ? scenario.job.placements : request.placements;
  DOVETAIL_TRY(planner::RankOptions options, rank_options(request.search, placements, callbacks));
  options.shown = static_cast<std::size_t>(request.shown);
  options.simulated = static_cast<std::size_t>(request.simulated);
  return Search{std::move(scenario), std::move(options), loaded.has_open_lengths()};
}

/// Like `read`, in one of several processes. All of them return the same result.
base::Result<Search> read_as_one_of(const parallel::Exchange& exchange, const RankingRequest& request,
                                    const Callbacks& callbacks) {
  base::Result<Search> search = read(request, callbacks);
  DOVETAIL_CHECK(parallel::agree_on_input(
      exchange, search.ok() ? base::Result<std::string>(plan::canonical_job(search->scenario.job)) : search.error(),
      "a different job"));
  search->options.search.exchange = &exchange;
  if (!request.search.budget.threads) search->options.search.threads = 1;
  note_idle_processes(exchange, search->options.search.chains, callbacks);
  return search;
}

Outcome outcome_of(const planner::Ranking& ranking, const Callbacks& callbacks) {
  if (ranking.plans.empty()) return Outcome::infeasible;
  // Any of the processes may have received a request to stop.
  if (ranking.search && ranking.search->stopped_by == pipeline::StoppedBy::interrupt) return Outcome::interrupted;
  return unless_interrupted(callbacks, Outcome::done);
}

std::string label_at(const predict::Scenario& scenario, double part) {
  return fmt::format("{}, mean response {:.0f}% of the cap", scenario.job.name, 100 * part);
}

/// Searches for the same job at other response lengths, and compares the first plan with the plans found there.
/// REQUIRES: the answer has a plan.
void look_at_other_lengths(const predict::Scenario& scenario, const planner::RankOptions& options,
                           RankingAnswer& answer, const Callbacks& callbacks) {
  const plan::Plan& first = answer.ranking.plans.front().plan;
  OpenLengths lengths = plan_at_shares(scenario, first);
  std::size_t left = lengths.shares.size() - 1;
  for (PlanAtShare& at : lengths.shares) {
    const planner::RankedPlan* found = &answer.ranking.plans.front();
    planner::Ranking ranking;
    if (at.share != default_share) {
      notify_label(callbacks, label_at(scenario, at.share));
      const predict::Scenario other = at_share_of_cap(scenario, at.share);
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
base::Result<RankingAnswer> rank_job(const RankingRequest& request, const Callbacks& callbacks, bool whole) {
  DOVETAIL_TRY(Search search, request.exchange != nullptr ? read_as_one_of(*request.exchange, request, callbacks)
                                                          : read(request, callbacks));
  const parallel::Cancellation stop(callbacks.cancellation, request.search.budget.time_limit);
  search.scenario.cancellation = &stop;
  const predict::Scenario at_cap = search.scenario;
  const planner::RankOptions all_options = search.options;
  if (search.has_open_lengths) {
    notify_label(callbacks, label_at(at_cap, default_share));
    search.scenario = at_share_of_cap(at_cap, default_share);
    search.options = planner::with_share_of_time(all_options, at_cap, assumed_shares.size());
  }
  RankingAnswer answer{std::move(search.scenario), {}, {}};
  const plan::Job& job = answer.scenario.job;
  if (request.on_better) search.options.on_better = [&](const plan::Plan& plan) { request.on_better(plan, job); };
  auto ranking = planner::rank_plans(answer.scenario, search.options);
  if (!ranking.ok()) return at_input(std::move(ranking).error(), request.job);
  answer.ranking = std::move(ranking).value();
  answer.too_many_samples =
      search.options.simulated > 0 && planner::max_simulated_plans(job, search.options.simulated) == 0;
  if (whole) {
    answer.flips = planner::find_flips(answer.scenario, answer.ranking, search.options.search.threads);
    answer.all_inputs_tried = !answer.scenario.is_stopped();
    if (search.has_open_lengths && !answer.ranking.plans.empty())
      look_at_other_lengths(at_cap, all_options, answer, callbacks);
  }
  answer.outcome = outcome_of(answer.ranking, callbacks);
  answer.scenario.cancellation = nullptr;
  return answer;
}

}  // namespace

base::Result<RankingAnswer> answer_to(const RankingRequest& request, const Callbacks& callbacks) {
  if (request.allowed.empty() && request.alternative > 0)
    return base::bad_input("--way needs --allow, which defines the variants");
  return request.allowed.empty() ? rank_job(request, callbacks, true) : rank_alternatives(request, callbacks, rank_job);
}

}  // namespace dovetail::answer
