#include "planner/rank/rank.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <utility>

#include "base/stopwatch.h"
#include "parallel/for_each_index.h"
#include "plan/framework.h"
#include "planner/bound/bound.h"
#include "planner/rank/fusion_choice.h"

namespace dovetail::planner {
namespace {

/// Number of finalists whose trainings get a real schedule.
constexpr std::size_t max_schedules = 8;

/// Returns the requested placements, or all if none is named.
std::vector<Placement> requested_placements(const RankOptions& options) {
  if (!options.placements.empty()) return options.placements;
  return {std::begin(all_placements), std::end(all_placements)};
}

bool may(const RankOptions& options, Placement placement) {
  const std::vector<Placement> requested = requested_placements(options);
  return std::find(requested.begin(), requested.end(), placement) != requested.end();
}

bool shares_search(const RankOptions& options) {
  return options.search.exchange != nullptr && options.search.exchange->ranks > 1;
}

/// Selections known before the search.
struct Starts {
  std::vector<Selection> all;         ///< selections of the named placements
  std::vector<TriedPlacement> tried;  ///< results of the named placements
  /// Co-located plan to derive the rlhfuse plan from, if that is requested and the co-located plan fits.
  std::optional<Selection> for_rlhfuse;
};

/// The fastest selection that fits, otherwise the one that comes closest to fitting.
struct BestSelections {
  std::optional<Selection> selection;
  bool fits = false;
};

BestSelections best_of(const predict::Scenario& scenario, Trial& trial, const std::vector<Selection>& found) {
  BestSelections best;
  Score least;
  for (const Selection& selection : found) {
    if (best.fits && scenario.is_stopped()) break;
    const Score score = trial.score(selection);
    const bool better = score.excess != least.excess ? score.excess < least.excess : score.period < least.period;
    if (best.selection && !better) continue;
    least = score;
    best = {selection, score.excess == 0};
  }
  return best;
}

/// Finds the starts. Adds the best selection of each placement that fits to `candidates`.
Starts warm_starts(const SearchSpace& space, const RankOptions& options, std::vector<Finalist>& candidates) {
  Starts starts;
  Trial trial(space);
  for (const Placement placement : named_placements) {
    const bool for_rlhfuse = placement == Placement::co_located && may(options, Placement::rlhfuse);
    if (!may(options, placement) && !for_rlhfuse) continue;
    const std::vector<Selection> found = selection_of(space, placement);
    BestSelections best = best_of(*space.scenario, trial, found);
    // Descent toward the lowest cost may end in a selection that does not fit, although another one does.
    if (best.selection && !best.fits)
      best = best_of(*space.scenario, trial, selection_of(space, placement, DescentObjective::excess));
    if (best.fits && may(options, placement)) candidates.push_back({placement, *best.selection});
    if (best.fits && for_rlhfuse) starts.for_rlhfuse = *best.selection;
    starts.tried.push_back({placement, std::move(best.selection)});
    starts.all.insert(starts.all.end(), found.begin(), found.end());
  }
  return starts;
}

/// Keeps engines' weights on the devices if offloading them gains nothing.
void tidy(const predict::Scenario& scenario, const FusionChooser& chooser, RankedPlan& ranked) {
  for (std::size_t task = 0; task < ranked.plan.tasks.size(); ++task) {
    if (scenario.job.workflow.tasks[task].kind != workflow::TaskKind::generate ||
        !ranked.plan.tasks[task].offload.weights)
      continue;
    if (!scenario.job.fixed.empty() && scenario.job.fixed[task].offload) continue;
    plan::Plan plan = ranked.plan;
    plan.tasks[task].offload.weights = false;
    if (!plan::runs(scenario.job, task, plan.tasks[task], plan::RuleScope::search)) continue;
    // If an estimate needs a new schedule, the trainings no longer have enough memory for the known one.
    std::optional<predict::Estimate> estimate = chooser.estimate_known(plan);
    if (!estimate || !estimate->keeps_margin() || estimate->iteration_seconds > ranked.estimate.iteration_seconds)
      continue;
    ranked.plan = std::move(plan);
    ranked.estimate = std::move(*estimate);
  }
}

/// Adds the plan of placement "rlhfuse". Without fusion it is a co-located plan. It is then added only if co-located
/// plans were not requested.
void add_rlhfuse(const SearchSpace& space, const RankOptions& options, const Starts& starts, FusionChooser& chooser,
                 std::vector<RankedPlan>& plans) {
  if (!starts.for_rlhfuse) return;
  if (space.scenario->is_stopped()) return;
  auto best = rlhfuse_plan(space, *starts.for_rlhfuse, chooser, options.search.threads);
  if (!best || (!best->plan.fusion.any() && may(options, Placement::co_located))) return;
  plans.push_back({Placement::rlhfuse, std::move(best->plan), std::move(best->estimate)});
}

/// Returns the start that comes closest to fitting, with the choices that need the least memory.
NearestPlan nearest_of(const predict::Scenario& scenario, const SearchSpace& space, std::vector<Selection> starts) {
  Trial trial(space);
  const Selection* best = nullptr;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (Selection& selection : starts) {
    if (best != nullptr && scenario.is_stopped()) break;
    const std::int64_t excess = improve_choices(space, trial, selection, DescentObjective::excess).excess;
    if (excess >= least) continue;
    least = excess;
    best = &selection;
  }
  NearestPlan nearest{plan_of(space, *best, "nearest"), 0, 0, predict::Fit::fits};
  const std::vector<predict::TaskMemory> memory = predict::task_memory(scenario, nearest.plan);
  for (std::size_t task = 0; task < memory.size(); ++task) {
    nearest.fit = std::max(nearest.fit, memory[task].fit());
    const std::int64_t missing = std::max(-memory[task].headroom(), memory[task].host - memory[task].host_memory);
    if (memory[task].usable == 0 || missing <= nearest.missing) continue;
    nearest.task = task;
    nearest.missing = missing;
  }
  return nearest;
}

/// Returns the time to reserve for work after the search. Extrapolates the measured time of evaluating, fusing and
/// simulating the first candidate to all finalists. Doubles it for variants of the best ones, and adds a small share in
/// case the search ends late.
double seconds_after_search(const SearchSpace& space, const RankOptions& options,
                            const std::vector<Finalist>& candidates) {
  const predict::Scenario& scenario = *space.scenario;
  double seconds = 0;
  const auto add = [&](std::size_t times, const auto& work) {
    const auto begin = std::chrono::steady_clock::now();
    if (times > 0) work();
    seconds += base::seconds_since(begin) * static_cast<double>(times);
  };
  std::vector<RankedPlan> one;
  add(candidates.size() + options.search.kept + 1, [&] { one = evaluate(space, {candidates.front()}); });
  FusionChooser chooser(scenario);
  add(one.empty() || options.option_set != OptionSet::all ? 0 : max_schedules,
      [&] { (void)chooser.choose(one.front().plan, one.front().estimate); });
  add(max_simulated_plans(scenario.job, options.simulated),
      [&] { simulate_first(scenario, one, 1, 0, options.search.seed, 1); });
  constexpr double late_share = 0.03;
  return 2 * seconds + late_share * *options.search.time_limit_seconds;
}

/// Returns the options of the search, with the bound in ns and the time limit. Reserves time for later work, but leaves
/// the search at least half of the remaining time.
SearchOptions search_options(const SearchSpace& space, const RankOptions& options,
                             const std::vector<Finalist>& candidates, double bound) {
  SearchOptions within = options.search;
  within.bound = base::ticks_within_seconds(bound);
  if (options.on_better)
    within.on_better = [&](const Found& found) {
      const plan::Plan plan = plan_of(space, found.selection, std::string(name_of(Placement::searched)));
      if (predict::estimate(*space.scenario, plan).keeps_margin()) options.on_better(plan);
    };
  if (within.time_limit_seconds) {
    const double kept = candidates.empty() ? 0 : seconds_after_search(space, options, candidates);
    const double left = space.scenario->cancellation->seconds_left().value();
    within.time_limit_seconds = std::max(left / 2, left - kept);
  }
  return within;
}

/// Computes the lower bounds of plans without fusion and of all plans. Returns the bound on the period of all plans of
/// the search, or 0 if the space is incomplete.
double find_bounds(const SearchSpace& space, FusionSelection fusion, int threads, Ranking& ranking) {
  if (space.scenario->is_stopped()) return 0;
  double bounds[2];  // without fusion, with fusion
  parallel::for_each_index(fusion.any() ? 2 : 1, threads, [&](int fuses) {
    bounds[fuses] = period_bound(space, fuses != 0 ? fusion : FusionSelection{});
  });
  if (bounds[0] > 0) ranking.bound = predict::iteration_seconds(*space.scenario, bounds[0]);
  if (!fusion.any()) return bounds[0];
  const double bound = std::min(bounds[0], bounds[1]);
  if (bound > 0) ranking.fused_bound = predict::iteration_seconds(*space.scenario, bound);
  return bound;
}

/// Returns the plans of the result, sorted.
std::vector<RankedPlan> finalists_of(const SearchSpace& space, const RankOptions& options,
                                     const std::vector<Finalist>& candidates, const Starts& starts) {
  const predict::Scenario& scenario = *space.scenario;
  std::vector<RankedPlan> plans = evaluate(space, candidates);
  // A search without a start may end in selections whose linked tasks disagree.
  std::erase_if(plans, [&](const RankedPlan& ranked) {
    return plan::find_disagreement(scenario.job, ranked.plan.tasks).has_value();
  });
  FusionChooser chooser(scenario);
  if (options.option_set == OptionSet::all) fuse(scenario, chooser, plans, max_schedules, options.search.threads);
  sort(plans);
  keep_different(plans, options.shown);
  if (options.option_set == OptionSet::all) add_rlhfuse(space, options, starts, chooser, plans);
  for (RankedPlan& ranked : plans)
    if (!scenario.is_stopped()) tidy(scenario, chooser, ranked);
  drop_repeated(plans);
  sort(plans);
  simulate_first(scenario, plans, options.simulated, scenario.software.efficiency.error, options.search.seed,
                 options.search.threads);
  return plans;
}

/// Explains why no plan fits, why the first plan lacks fusions, and why placements have no plan. If stopped, leaves out
/// the last two.
void explain_missing(const SearchSpace& space, const RankOptions& options, const Starts& starts, Ranking& ranking) {
  const predict::Scenario& scenario = *space.scenario;
  if (ranking.plans.empty() && !starts.all.empty()) ranking.nearest = nearest_of(scenario, space, starts.all);
  if (scenario.is_stopped()) return;
  if (options.option_set == OptionSet::all && !ranking.plans.empty())
    ranking.not_fused = why_not_fused(scenario, ranking.plans.front().plan);
  ranking.absent =
      absent_placements(space, options.option_set, requested_placements(options), starts.tried, ranking.plans);
}

void count_ties(const predict::Scenario& scenario, Ranking& ranking) {
  for (std::size_t index = 1; index < ranking.plans.size(); ++index)
    if (ranking.plans[index].estimate.iteration_seconds <=
        ranking.plans.front().estimate.iteration_seconds * (1 + scenario.software.efficiency.error))
      ++ranking.ties;
}

}  // namespace

RankOptions with_share_of_time(RankOptions options, const predict::Scenario& scenario, std::size_t parts) {
  if (scenario.cancellation == nullptr) return options;
  if (const auto left = scenario.cancellation->seconds_left())
    options.search.time_limit_seconds = *left / static_cast<double>(parts);
  return options;
}

base::Result<Ranking> rank_plans(const predict::Scenario& given, const RankOptions& options) {
  const parallel::Cancellation limit(given.cancellation, options.search.time_limit_seconds);
  predict::Scenario scenario = given;
  // Processes that share a search must start with the same space and the same bound.
  scenario.cancellation = shares_search(options) ? nullptr : &limit;
  const ChoiceRules rules{options.option_set};
  const SearchSpace space = make_search_space(scenario, search_meshes(scenario.job), rules, options.search.threads);
  if (const auto task = impossible_task(space)) {
    if (const auto ended_by = limit.ended_by()) return parallel::stopped_before("a plan was found", *ended_by);
    return no_choice_error(space, *task, options.option_set);
  }
  Ranking ranking;
  std::vector<Finalist> candidates;
  const Starts starts = warm_starts(space, options, candidates);
  // ReaL does not fuse.
  const FusionSelection fusion = options.option_set == OptionSet::all ? open_fusion(scenario.job) : FusionSelection{};
  const double bound = find_bounds(space, fusion, options.search.threads, ranking);
  scenario.cancellation = &limit;
  if (may(options, Placement::searched)) {
    SearchOptions within = search_options(space, options, candidates, bound);
    within.fusion = fusion;
    SearchResult result = search(space, starts.all, within);
    for (Found& found : result.found) candidates.push_back({Placement::searched, std::move(found.selection)});
    ranking.search = std::move(result.run);
  }
  ranking.plans = finalists_of(space, options, candidates, starts);
  if (const auto ended_by = limit.ended_by(); ended_by && ranking.plans.empty())
    return parallel::stopped_before("a plan that fits was found", *ended_by);
  explain_missing(space, options, starts, ranking);
  count_ties(scenario, ranking);
  ranking.cut_short = limit.ended_by();
  return ranking;
}

}  // namespace dovetail::planner
