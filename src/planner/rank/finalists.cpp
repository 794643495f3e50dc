#include "planner/rank/finalists.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "parallel/for_each_index.h"
#include "predict/closed_form/intra_stage.h"
#include "predict/simulated/simulation.h"

namespace dovetail::planner {
namespace {

/// Minimum ratio between the times of consecutive searched plans.
constexpr double min_difference = 1.005;

/// Returns the indices of plans, sorted by their minimum fused time.
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
    plan::Plan plan = plan_of(space, candidate.selection, std::string(name_of(candidate.placement)));
    // The search may find the same selection with and without fusion.
    const auto is_same = [&](const RankedPlan& known) {
      return known.placement == candidate.placement && known.plan.tasks == plan.tasks;
    };
    if (std::any_of(plans.begin(), plans.end(), is_same)) continue;
    const auto is_alike = [&](const RankedPlan& known) { return known.placement == candidate.placement; };
    if (space.scenario->is_stopped() && std::any_of(plans.begin(), plans.end(), is_alike)) continue;
    predict::Estimate estimate = predict::estimate(*space.scenario, plan);
    if (estimate.keeps_margin()) plans.push_back({candidate.placement, std::move(plan), std::move(estimate)});
  }
  return plans;
}

void fuse(const predict::Scenario& scenario, FusionChooser& chooser, std::vector<RankedPlan>& plans,
          std::size_t schedules, int threads) {
  const plan::FusionPin& pin = scenario.job.fixed_fusion;
  const bool is_required = pin.inter_stage.value_or(false) || pin.intra_stage.value_or(false);
  const auto is_over = [&] { return scenario.is_stopped() && !is_required; };
  std::vector<double> least;
  for (const RankedPlan& ranked : plans) {
    if (is_over()) return;
    const bool may = is_required || ranked.placement == Placement::searched;
    least.push_back(may ? min_fused_seconds(scenario, ranked.plan) : std::numeric_limits<double>::max());
  }
  struct FusionCandidate {
    std::size_t index = 0;
    bool scheduled = false;
  };
  std::vector<FusionCandidate> chosen;
  std::vector<plan::Plan> with_schedule;
  for (const std::size_t index : by_least(least)) {
    if (!is_required && least[index] >= plans[index].estimate.iteration_seconds) continue;
    chosen.push_back({index, pin.intra_stage.value_or(false) || schedules > 0});
    if (chosen.back().scheduled) with_schedule.push_back(plans[index].plan);
    if (schedules > 0 && fusible_pair(scenario.job, plans[index].plan.tasks)) --schedules;
  }
  chooser.make_schedules(std::move(with_schedule), threads);
  std::vector<char> cannot(plans.size(), 0);  // [plan] whether it cannot have the required fusion
  for (const FusionCandidate& one : chosen) {
    if (is_over()) break;
    RankedPlan& ranked = plans[one.index];
    auto best = chooser.choose(ranked.plan, ranked.estimate, one.scheduled);
    if (best)
      ranked = RankedPlan{ranked.placement, std::move(best->plan), std::move(best->estimate)};
    else
      cannot[one.index] = 1;
  }
  std::size_t index = 0;
  std::erase_if(plans, [&](const RankedPlan&) { return cannot[index++] != 0; });
}

void sort(std::vector<RankedPlan>& plans) {
  std::stable_sort(plans.begin(), plans.end(), [](const RankedPlan& a, const RankedPlan& b) {
    return a.estimate.iteration_seconds < b.estimate.iteration_seconds;
  });
}

void keep_different(std::vector<RankedPlan>& plans, std::size_t shown) {
  std::vector<RankedPlan> different;
  double last_searched = 0;
  for (RankedPlan& ranked : plans) {
    // Named placements are always kept, searched plans only if their times differ.
    if (ranked.placement == Placement::searched) {
      if (ranked.estimate.iteration_seconds < last_searched * min_difference) continue;
      last_searched = ranked.estimate.iteration_seconds;
    }
    different.push_back(std::move(ranked));
  }
  const auto is_searched = [](const RankedPlan& ranked) { return ranked.placement == Placement::searched; };
  while (different.size() > shown && std::count_if(different.begin(), different.end(), is_searched) > 1)
    different.erase(std::next(std::find_if(different.rbegin(), different.rend(), is_searched)).base());
  plans = std::move(different);
}

void drop_repeated(std::vector<RankedPlan>& plans) {
  std::vector<RankedPlan> different;
  for (std::size_t index = 0; index < plans.size(); ++index) {
    const RankedPlan& ranked = plans[index];
    const auto is_same = [&](const RankedPlan& other) {
      return &other != &ranked && other.plan.tasks == ranked.plan.tasks && other.plan.fusion == ranked.plan.fusion &&
             (other.placement != Placement::searched || &other < &ranked);
    };
    if (ranked.placement != Placement::searched || std::none_of(plans.begin(), plans.end(), is_same))
      different.push_back(ranked);
  }
  plans = std::move(different);
}

std::size_t max_simulated_plans(const plan::Job& job, std::size_t max_plans) {
  const auto plans =
      static_cast<std::size_t>(max_simulated_samples / std::max<std::int64_t>(job.workload.samples(), 1));
  return max_plans > plans && plans < 2 ? 0 : std::min(max_plans, plans);
}

void simulate_first(const predict::Scenario& scenario, std::vector<RankedPlan>& plans, std::size_t max_plans,
                    double error, std::uint64_t seed, int threads) {
  predict::SimulationOptions options;
  options.seed = seed;
  // Simulate the schedule of the estimate.
  options.fused = {.iterations = predict::fused_iterations, .brief = true};
  const std::size_t allowed = std::min(max_simulated_plans(scenario.job, max_plans), plans.size());
  std::size_t count = 0;
  while (count < allowed &&
         plans[count].estimate.iteration_seconds <= plans.front().estimate.iteration_seconds * (1 + error))
    ++count;
  parallel::for_each_index(static_cast<int>(count), threads, [&](int index) {
    RankedPlan& ranked = plans[static_cast<std::size_t>(index)];
    if (const auto simulation = predict::Simulator(scenario, options).simulate(ranked.plan, ranked.estimate);
        simulation.ok())
      ranked.simulated = simulation.value().iteration_seconds;
  });
  if (scenario.is_stopped())
    for (RankedPlan& ranked : plans) ranked.simulated.reset();
  std::stable_sort(plans.begin(), plans.begin() + static_cast<std::ptrdiff_t>(count),
                   [](const RankedPlan& a, const RankedPlan& b) {
                     return a.simulated && (!b.simulated || *a.simulated < *b.simulated);
                   });
}

}  // namespace dovetail::planner
