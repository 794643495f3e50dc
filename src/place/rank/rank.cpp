#include "place/rank/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/stopwatch.h"
#include "place/bound/bound.h"
#include "place/rank/fused_placement.h"
#include "place/rank/fusion_choice.h"

namespace dovetail::place {
namespace {

/// Plans found by the search are shown that are so many times as long as the one before.
constexpr double least_difference = 1.005;

struct Candidate {
  Placement placement;
  Picks picks;
};

bool may(const RankOptions& options, Placement placement) {
  const auto& allowed = options.placements;
  return allowed.empty() || std::find(allowed.begin(), allowed.end(), placement) != allowed.end();
}

/// What is known before the search.
struct Starts {
  std::vector<Picks> all;            ///< of the named placements
  std::optional<Picks> for_rlhfuse;  ///< the co-located plan that it begins with, where it may be looked at and that fits
};

/// Of each placement the best that fits is a candidate.
Starts starts_of(const SearchSpace& space, const RankOptions& options, std::vector<Candidate>& candidates) {
  Starts starts;
  Trial trial(space);
  for (const Placement placement : named_placements) {
    const bool for_rlhfuse = placement == Placement::co_located && may(options, Placement::rlhfuse);
    if (!may(options, placement) && !for_rlhfuse) continue;
    const std::vector<Picks> found = picks_of(space, placement);
    const Picks* best = nullptr;
    base::Ticks least = base::Ticks::max();
    for (const Picks& picks : found) {
      const Score score = trial.score(picks);
      if (score.excess > 0 || score.period >= least) continue;
      least = score.period;
      best = &picks;
    }
    if (best != nullptr && may(options, placement)) candidates.push_back({placement, *best});
    if (best != nullptr && for_rlhfuse) starts.for_rlhfuse = *best;
    starts.all.insert(starts.all.end(), found.begin(), found.end());
  }
  return starts;
}

/// An engine that gives its weights back for nothing keeps them.
void tidy(const Ground& ground, FusionChooser& chooser, RankedPlan& ranked) {
  for (std::size_t task = 0; task < ranked.plan.tasks.size(); ++task) {
    if (ground.job.workflow.tasks[task].kind != workflow::TaskKind::generate || !ranked.plan.tasks[task].offload.weights) continue;
    if (!ground.job.fixed.empty() && ground.job.fixed[task].offload) continue;
    plan::Plan plan = ranked.plan;
    plan.tasks[task].offload.weights = false;
    Estimate estimate = chooser.estimate(plan);
    if (!estimate.fits() || estimate.iteration_seconds > ranked.estimate.iteration_seconds) continue;
    ranked.plan = std::move(plan);
    ranked.estimate = std::move(estimate);
  }
}

void sort(std::vector<RankedPlan>& plans) {
  std::stable_sort(plans.begin(), plans.end(),
                   [](const RankedPlan& a, const RankedPlan& b) { return a.estimate.iteration_seconds < b.estimate.iteration_seconds; });
}

/// The plans that fit, without fusion, the fastest first.
std::vector<RankedPlan> evaluate(const Ground& ground, const SearchSpace& space, const std::vector<Candidate>& candidates,
                                 std::size_t shown) {
  std::vector<RankedPlan> plans;
  for (const Candidate& candidate : candidates) {
    plan::Plan plan = plan_of(space, candidate.picks, std::string(name_of(candidate.placement)));
    Estimate estimate = place::estimate(ground, plan);
    if (estimate.fits()) plans.push_back({candidate.placement, std::move(plan), std::move(estimate)});
  }
  sort(plans);
  std::vector<RankedPlan> different;
  double last_searched = 0;
  for (RankedPlan& ranked : plans) {
    // Each named placement is shown, whatever it is like; of the others those that differ in what they take.
    if (ranked.placement == Placement::searched) {
      if (ranked.estimate.iteration_seconds < last_searched * least_difference) continue;
      last_searched = ranked.estimate.iteration_seconds;
    }
    different.push_back(std::move(ranked));
  }
  while (different.size() > shown) {
    const auto last = std::find_if(different.rbegin(), different.rend(),
                                   [](const RankedPlan& ranked) { return ranked.placement == Placement::searched; });
    if (last == different.rend() || last.base() == different.begin() + 1) break;
    different.erase(std::next(last).base());
  }
  return different;
}

/// Gives each plan its best fusion: those that were searched, and all where the job demands one. What cannot have what is demanded goes.
void fuse(const Ground& ground, FusionChooser& chooser, std::vector<RankedPlan>& plans) {
  const plan::FusionPin& pin = ground.job.fixed_fusion;
  const bool demanded = pin.inter_stage.value_or(false) || pin.intra_stage.value_or(false);
  std::vector<RankedPlan> fused;
  for (RankedPlan& ranked : plans) {
    const bool gains = least_fused_seconds(ground, ranked.plan) < ranked.estimate.iteration_seconds;
    if (!demanded && (ranked.placement != Placement::searched || !gains)) {
      fused.push_back(std::move(ranked));
      continue;
    }
    if (auto best = chooser.choose(ranked.plan, ranked.estimate))
      fused.push_back({ranked.placement, std::move(best->plan), std::move(best->estimate)});
  }
  plans = std::move(fused);
}

/// The plan of the placement "rlhfuse"; without any fusion only where co-located plans, one of which it is then, are not looked at.
void add_rlhfuse(const SearchSpace& space, const RankOptions& options, const Starts& starts, FusionChooser& chooser,
                 std::vector<RankedPlan>& plans) {
  if (!starts.for_rlhfuse) return;
  auto best = rlhfuse_plan(space, *starts.for_rlhfuse, chooser);
  if (!best || (!best->plan.fusion.any() && may(options, Placement::co_located))) return;
  plans.push_back({Placement::rlhfuse, std::move(best->plan), std::move(best->estimate)});
}

/// Of the starts, with the choices that need the least, the one that comes nearest to fitting.
NearestPlan nearest_of(const Ground& ground, const SearchSpace& space, std::vector<Picks> starts) {
  Trial trial(space);
  const Picks* best = nullptr;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (Picks& picks : starts) {
    const std::int64_t excess = improve_choices(space, trial, picks, Aim::excess).excess;
    if (excess >= least) continue;
    least = excess;
    best = &picks;
  }
  NearestPlan nearest{plan_of(space, *best, "nearest"), 0, 0};
  const std::vector<TaskMemory> memory = task_memory(ground, nearest.plan);
  for (std::size_t task = 0; task < memory.size(); ++task) {
    const std::int64_t missing = std::max(-memory[task].margin(), memory[task].host - memory[task].host_memory);
    if (memory[task].usable == 0 || missing <= nearest.missing) continue;
    nearest.task = task;
    nearest.missing = missing;
  }
  return nearest;
}

double gibi(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

/// The search's part of the options: with the bound in seconds, and the time that is left after `spent` seconds and for what it finds.
SearchOptions search_options(const SearchSpace& space, const RankOptions& options, const std::vector<Candidate>& candidates, double bound,
                             double spent) {
  SearchOptions within = options.search;
  within.bound = base::Ticks(static_cast<std::int64_t>(bound * 1e9));
  if (options.on_better)
    within.on_better = [&](const Found& found) {
      const plan::Plan plan = plan_of(space, found.picks, std::string(name_of(Placement::searched)));
      if (place::estimate(*space.ground, plan).fits()) options.on_better(plan);
    };
  if (within.time_limit_seconds) {
    const auto begin = std::chrono::steady_clock::now();
    if (!candidates.empty()) (void)place::estimate(*space.ground, plan_of(space, candidates.front().picks, ""));
    const double finalists = base::seconds_since(begin) * static_cast<double>(candidates.size() + within.kept + 1);
    within.time_limit_seconds = std::max(0.0, *within.time_limit_seconds - spent - finalists);
  }
  return within;
}

base::Error nothing_to_choose(const Ground& ground, const SearchSpace& space, std::size_t task, const ChoiceRules& rules) {
  std::optional<LeastNeed> least;
  for (const cluster::Mesh& mesh : space.examples)
    if (const auto need = least_need(ground, task, mesh, rules); need && (!least || need->bytes < least->bytes)) least = need;
  const std::string& name = ground.job.workflow.tasks[task].name;
  base::Error error;
  if (!least) {
    error.message = fmt::format(
        "no layout of {} can be had on any mesh of the cluster with what is fixed of it; accepted: degrees that divide its heads and "
        "layers, "
        "and make up a mesh",
        name);
    return error;
  }
  const std::int64_t usable = smallest_memory(space);
  error.failure = base::Failure::infeasible;
  error.message = fmt::format(
      "{} alone does not fit on this cluster: at the least, with {} on {} devices, it needs {:.2f} GiB of each, {:.2f} GiB more than the "
      "{:.2f} GiB that can be used",
      name, llm::to_text(least->planned.layout), least->planned.mesh.count, gibi(least->bytes), gibi(least->bytes - usable), gibi(usable));
  return error;
}

}  // namespace

base::Result<Ranking> rank_plans(const Ground& ground, const RankOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const ChoiceRules rules{options.means};
  const SearchSpace space = make_search_space(ground, search_meshes(ground.job), rules, options.search.threads);
  if (const auto task = impossible_task(space)) return nothing_to_choose(ground, space, *task, rules);
  Ranking ranking;
  std::vector<Candidate> candidates;
  const Starts starts = starts_of(space, options, candidates);
  const double bound = period_bound(space);
  ranking.bound = bound + ground.software.efficiency.iteration;
  if (may(options, Placement::searched)) {
    const SearchOptions within = search_options(space, options, candidates, bound, base::seconds_since(begin));
    SearchResult result = search(space, starts.all, within);
    for (Found& found : result.found) candidates.push_back({Placement::searched, std::move(found.picks)});
    ranking.search = std::move(result.run);
  }
  ranking.plans = evaluate(ground, space, candidates, options.shown);
  FusionChooser chooser(ground);
  // ReaL fuses nothing.
  const bool may_fuse = options.means == Means::all;
  if (may_fuse) {
    fuse(ground, chooser, ranking.plans);
    add_rlhfuse(space, options, starts, chooser, ranking.plans);
  }
  for (RankedPlan& ranked : ranking.plans) tidy(ground, chooser, ranked);
  sort(ranking.plans);
  if (ranking.plans.empty() && !starts.all.empty()) ranking.nearest = nearest_of(ground, space, starts.all);
  if (may_fuse && !ranking.plans.empty()) ranking.not_fused = why_not_fused(ground, ranking.plans.front().plan);
  const double error = ground.software.efficiency.error;
  for (std::size_t index = 1; index < ranking.plans.size(); ++index)
    if (ranking.plans[index].estimate.iteration_seconds <= ranking.plans.front().estimate.iteration_seconds * (1 + error)) ++ranking.ties;
  return ranking;
}

}  // namespace dovetail::place
