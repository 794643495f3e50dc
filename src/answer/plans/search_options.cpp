#include "answer/plans/search_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "answer/text/figures.h"
#include "base/csv.h"
#include "base/document.h"

namespace dovetail::answer {
namespace {

/// Fields of a progress line.
std::vector<ProgressField> figures_of(const planner::SearchProgress& progress) {
  std::vector<ProgressField> fields{
      {progress.best == nullptr
           ? std::string("no plan that fits yet")
           : seconds_text(base::seconds_of_ticks(progress.best->score.period)) + " per iteration"}};
  if (progress.best != nullptr && progress.bound > base::Ticks(0))
    fields.push_back({fmt::format(
        " (bound {}, {})", seconds_text(base::seconds_of_ticks(progress.bound)),
        gap_text(base::seconds_of_ticks(progress.best->score.period) / base::seconds_of_ticks(progress.bound) - 1))});
  const double share = static_cast<double>(progress.iterations) / static_cast<double>(progress.planned);
  fields.push_back({fmt::format(", {} done", percent(share)), 1});
  fields.push_back({fmt::format(", {} evaluations/s", short_number(progress.evaluations_per_second))});
  fields.push_back({", " + time_left(progress.seconds_left)});
  return fields;
}

std::vector<planner::Placement> known_placements() {
  return {std::begin(planner::all_placements), std::end(planner::all_placements)};
}

base::Result<std::vector<planner::Placement>> placements_named(const std::vector<std::string>& names) {
  const std::vector<planner::Placement> known = known_placements();
  std::vector<std::string_view> accepted;
  for (const planner::Placement placement : known) accepted.push_back(name_of(placement));
  std::vector<planner::Placement> placements;
  for (const std::string& name : names) {
    const auto found = std::find(accepted.begin(), accepted.end(), name);
    if (found == accepted.end())
      return base::bad_input(
          fmt::format("there is no placement '{}'{}", name, hint_and_list(name, "the placements are", accepted)));
    placements.push_back(known[static_cast<std::size_t>(found - accepted.begin())]);
  }
  return placements;
}

}  // namespace

base::Result<planner::RankOptions> rank_options(const PlanSearchOptions& given,
                                                const std::vector<std::string>& placements,
                                                const Callbacks& callbacks) {
  planner::RankOptions options;
  DOVETAIL_TRY(options.placements, placements_named(placements));
  options.option_set = given.option_set;
  options.simulated = default_simulated;
  options.search.chains = given.budget.chains;
  options.search.iterations = given.budget.iterations;
  options.search.time_limit_seconds = given.budget.time_limit;
  options.search.seed = given.budget.seed;
  options.search.threads = given.budget.thread_count();
  options.search.on_progress = [callbacks](const planner::SearchProgress& progress) {
    notify_figures(callbacks, [&progress] { return figures_of(progress); });
  };
  return options;
}

base::Result<planner::Ranking> find_plans(const predict::Scenario& scenario, const planner::RankOptions& options,
                                          const Input& job, const std::string& advice) {
  auto ranking = planner::rank_plans(scenario, planner::with_share_of_time(options, scenario, 2));
  if (!ranking.ok()) return at_input(std::move(ranking).error(), job);
  if (ranking->plans.empty())
    return base::Error{base::Failure::infeasible, name_of(job), 0, 0, "no plan of this job fits" + advice};
  return ranking;
}

base::Result<std::optional<std::int64_t>> parse_length_cap(const std::string& text, const plan::Job& job) {
  if (text == "keep") return std::optional(job.workload.response_length.longest());
  if (text == "scale") return std::optional<std::int64_t>();
  const std::optional<std::int32_t> tokens = base::parse_index(text);
  if (!tokens || *tokens < 1 || *tokens > workflow::max_length)
    return base::bad_input(
        fmt::format("--cap: {} is not a cap; accepted: keep, scale, or a number of tokens from 1 to {}",
                    base::quote(text), workflow::max_length));
  return std::optional<std::int64_t>(*tokens);
}

}  // namespace dovetail::answer
