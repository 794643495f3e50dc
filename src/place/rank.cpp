#include "place/rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "place/bound.h"

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

/// All starts of the named placements, for the search; of each placement the best that fits is a candidate.
std::vector<Picks> starts_of(const SearchSpace& space, const RankOptions& options, std::vector<Candidate>& candidates) {
  std::vector<Picks> starts;
  Trial trial(space);
  for (const Placement placement : named_placements) {
    if (!may(options, placement)) continue;
    const std::vector<Picks> found = picks_of(space, placement);
    const Picks* best = nullptr;
    base::Ticks least = base::Ticks::max();
    for (const Picks& picks : found) {
      const Score score = trial.score(picks);
      if (score.excess > 0 || score.period >= least) continue;
      least = score.period;
      best = &picks;
    }
    if (best != nullptr) candidates.push_back({placement, *best});
    starts.insert(starts.end(), found.begin(), found.end());
  }
  return starts;
}

/// An engine that gives its weights back for nothing keeps them.
void tidy(const Ground& ground, RankedPlan& ranked) {
  for (std::size_t task = 0; task < ranked.plan.tasks.size(); ++task) {
    if (ground.job.workflow.tasks[task].kind != workflow::TaskKind::generate || !ranked.plan.tasks[task].offload.weights) continue;
    if (!ground.job.fixed.empty() && ground.job.fixed[task].offload) continue;
    plan::Plan plan = ranked.plan;
    plan.tasks[task].offload.weights = false;
    Estimate estimate = place::estimate(ground, plan);
    if (!estimate.fits() || estimate.iteration_seconds > ranked.estimate.iteration_seconds) continue;
    ranked.plan = std::move(plan);
    ranked.estimate = std::move(estimate);
  }
}

std::vector<RankedPlan> evaluate(const Ground& ground, const SearchSpace& space, const std::vector<Candidate>& candidates,
                                 std::size_t shown) {
  std::vector<RankedPlan> plans;
  for (const Candidate& candidate : candidates) {
    plan::Plan plan = plan_of(space, candidate.picks, std::string(name_of(candidate.placement)));
    Estimate estimate = place::estimate(ground, plan);
    if (estimate.fits()) plans.push_back({candidate.placement, std::move(plan), std::move(estimate)});
  }
  std::stable_sort(plans.begin(), plans.end(),
                   [](const RankedPlan& a, const RankedPlan& b) { return a.estimate.iteration_seconds < b.estimate.iteration_seconds; });
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
  for (RankedPlan& ranked : different) tidy(ground, ranked);
  return different;
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
  const ChoiceRules rules{options.means};
  const SearchSpace space = make_search_space(ground, search_meshes(ground.job), rules, options.search.threads);
  if (const auto task = impossible_task(space)) return nothing_to_choose(ground, space, *task, rules);
  Ranking ranking;
  std::vector<Candidate> candidates;
  const std::vector<Picks> starts = starts_of(space, options, candidates);
  if (may(options, Placement::searched))
    for (const Found& found : search(space, starts, options.search)) candidates.push_back({Placement::searched, found.picks});
  ranking.plans = evaluate(ground, space, candidates, options.shown);
  ranking.bound = period_bound(space) + ground.software.efficiency.iteration;
  if (ranking.plans.empty() && !starts.empty()) ranking.nearest = nearest_of(ground, space, starts);
  const double error = ground.software.efficiency.error;
  for (std::size_t index = 1; index < ranking.plans.size(); ++index)
    if (ranking.plans[index].estimate.iteration_seconds <= ranking.plans.front().estimate.iteration_seconds * (1 + error)) ++ranking.ties;
  return ranking;
}

}  // namespace dovetail::place
