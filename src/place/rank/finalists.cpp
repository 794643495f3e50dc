#include "place/rank/finalists.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "place/predict/intra_stage.h"
#include "place/simulation/simulation.h"

namespace dovetail::place {
namespace {

/// Plans found by the search are shown that are so many times as long as the one before.
constexpr double least_difference = 1.005;

/// By what the fastest fusion of each would take at the least, the least first: numbers of plans.
std::vector<std::size_t> by_least(const std::vector<double>& least) {
  std::vector<std::size_t> order(least.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return least[a] < least[b]; });
  return order;
}

}  // namespace

std::vector<RankedPlan> evaluate(const SearchSpace& space, const std::vector<Finalist>& candidates) {
  std::vector<RankedPlan> plans;
  for (const Finalist& candidate : candidates) {
    plan::Plan plan = plan_of(space, candidate.picks, std::string(name_of(candidate.placement)));
    // The same picks may have been found with and without fusion.
    const auto is_same = [&](const RankedPlan& known) { return known.placement == candidate.placement && known.plan.tasks == plan.tasks; };
    if (std::any_of(plans.begin(), plans.end(), is_same)) continue;
    Estimate estimate = place::estimate(*space.ground, plan);
    if (estimate.fits()) plans.push_back({candidate.placement, std::move(plan), std::move(estimate)});
  }
  return plans;
}

void fuse(const Ground& ground, FusionChooser& chooser, std::vector<RankedPlan>& plans, std::size_t schedules) {
  const plan::FusionPin& pin = ground.job.fixed_fusion;
  const bool demanded = pin.inter_stage.value_or(false) || pin.intra_stage.value_or(false);
  std::vector<double> least;
  for (const RankedPlan& ranked : plans) {
    const bool may = demanded || ranked.placement == Placement::searched;
    least.push_back(may ? least_fused_seconds(ground, ranked.plan) : std::numeric_limits<double>::max());
  }
  std::vector<std::optional<RankedPlan>> fused(plans.size());
  for (const std::size_t index : by_least(least)) {
    RankedPlan& ranked = plans[index];
    if (!demanded && least[index] >= ranked.estimate.iteration_seconds) {
      fused[index] = std::move(ranked);
      continue;
    }
    const bool scheduled = pin.intra_stage.value_or(false) || schedules > 0;
    if (schedules > 0 && fusible_pair(ground.job, ranked.plan.tasks)) --schedules;
    if (auto best = chooser.choose(ranked.plan, ranked.estimate, scheduled))
      fused[index] = RankedPlan{ranked.placement, std::move(best->plan), std::move(best->estimate)};
  }
  plans.clear();
  for (auto& one : fused)
    if (one) plans.push_back(std::move(*one));
}

void sort(std::vector<RankedPlan>& plans) {
  std::stable_sort(plans.begin(), plans.end(),
                   [](const RankedPlan& a, const RankedPlan& b) { return a.estimate.iteration_seconds < b.estimate.iteration_seconds; });
}

void keep_different(std::vector<RankedPlan>& plans, std::size_t shown) {
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
  plans = std::move(different);
}

void simulate_first(const Ground& ground, std::vector<RankedPlan>& plans, std::size_t most, double error, std::uint64_t seed) {
  SimulationOptions options;
  options.seed = seed;
  options.fused.iterations = fused_iterations;  // as in the estimate
  Simulator simulator(ground, options);
  std::size_t count = 0;
  for (; count < std::min(most, plans.size()); ++count) {
    RankedPlan& ranked = plans[count];
    if (ranked.estimate.iteration_seconds > plans.front().estimate.iteration_seconds * (1 + error)) break;
    if (const auto played = simulator.simulate(ranked.plan); played.ok()) ranked.simulated = played.value().iteration_seconds;
  }
  std::stable_sort(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(count),
                   [](const RankedPlan& a, const RankedPlan& b) { return a.simulated && (!b.simulated || *a.simulated < *b.simulated); });
}

}  // namespace dovetail::place
