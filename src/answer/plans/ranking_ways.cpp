#include "answer/plans/ranking_ways.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "answer/plans/ways.h"
#include "parallel/cancellation.h"

namespace dovetail::answer {
namespace {

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
  RankingRequest of_it = request;
  of_it.job = way.input;
  of_it.on_better = nullptr;
  if (of_it.search.budget.time_limit) *of_it.search.budget.time_limit /= static_cast<double>(shares);
  Watch quiet = watch;
  quiet.on_read = nullptr;
  quiet.on_note = nullptr;
  quiet.on_label = [&watch, &way](const std::string& label) {
    tell_label(watch, fmt::format("{}, {}", label, way.name));
  };
  return rank(of_it, quiet, false);
}

}  // namespace

base::Result<RankingAnswer> rank_ways(const RankingRequest& request, const Watch& watch, RankJob& rank) {
  DOVETAIL_TRY(const trainers::Allowed allowed, allowed_of(request.allowed));
  DOVETAIL_TRY(const std::vector<WayInput> ways, way_inputs(request.job, allowed, watch));
  DOVETAIL_CHECK(check_way(request.way, ways));
  DOVETAIL_CHECK(tell_read(watch));
  // The final, complete answer gets a share of the time, too.
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

}  // namespace dovetail::answer
