#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "parallel/for_each_index.h"
#include "planner/rank/rank.h"
#include "workflow/lengths.h"

namespace dovetail::planner {
namespace {

/// A value of a job or its software, and how to scale it.
struct Input {
  const char* name;
  std::function<void(plan::Job&, predict::Software&, double)> scale;
};

const std::vector<Input>& inputs() {
  static const std::vector<Input> all{
      {"response lengths",
       [](plan::Job& job, predict::Software&, double factor) {
         workflow::set_responses(job.workload, workflow::scaled(workflow::responses_before_cap(job.workload), factor));
       }},
      {"prompts per iteration",
       [](plan::Job& job, predict::Software&, double factor) {
         job.workload.prompts =
             std::max<std::int64_t>(1, std::llround(static_cast<double>(job.workload.prompts) * factor));
       }},
      {"network bandwidth",
       [](plan::Job& job, predict::Software&, double factor) {
         for (cluster::NetworkLevel& level : job.cluster.networks) level.bandwidth *= factor;
       }},
      {"matrix multiplication speed",
       [](plan::Job&, predict::Software& software, double factor) { software.efficiency.matrix_products *= factor; }},
      {"memory bandwidth",
       [](plan::Job&, predict::Software& software, double factor) { software.efficiency.memory_bandwidth *= factor; }},
      {"hand-over time",
       [](plan::Job&, predict::Software& software, double factor) { software.efficiency.task *= factor; }},
  };
  return all;
}

/// Returns the ranked plan that is fastest and fits under a modified job and software, with its gain over the first
/// plan. nullopt if that is still the first one or the gain is below 1%.
std::optional<Flip> fastest(const plan::Job& job, const predict::Software& software, const Ranking& ranking,
                            const parallel::Cancellation* cancellation) {
  const predict::Scenario scenario = predict::scenario_of(job, software, cancellation);
  Flip flip;
  double first = 0;
  double least = 0;
  for (std::size_t index = 0; index < ranking.plans.size(); ++index) {
    const RankedPlan& ranked = ranking.plans[index];
    std::optional<double> over_bound;
    if (ranked.estimate.intra_stage) over_bound = ranked.estimate.intra_stage->over_bound();
    if (scenario.is_stopped()) return std::nullopt;
    const predict::Estimate estimate = predict::estimate_like(scenario, ranked.plan, over_bound);
    // A plan may rank first because of its simulated time. Its disadvantage in the closed form does not count as a
    // change.
    const double ahead = ranking.plans.front().estimate.iteration_seconds / ranked.estimate.iteration_seconds;
    const double seconds = estimate.iteration_seconds * std::max(1.0, ahead);
    if (index == 0) first = least = seconds;
    if (!estimate.keeps_margin() || seconds >= least) continue;
    least = seconds;
    flip.plan = index;
  }
  flip.gain = 1 - least / first;
  if (flip.plan == 0 || flip.gain < 0.01) return std::nullopt;
  return flip;
}

/// Returns the flip with the smallest change of the input.
std::optional<Flip> nearest_flip(const predict::Scenario& scenario, const Ranking& ranking, const Input& input) {
  for (const double factor : {0.8, 1.25, 0.67, 1.5, 0.5, 2.0}) {
    if (scenario.is_stopped()) break;
    plan::Job job = scenario.job;
    predict::Software software = scenario.software;
    input.scale(job, software, factor);
    std::optional<Flip> flip = fastest(job, software, ranking, scenario.cancellation);
    if (!flip) continue;
    flip->input = input.name;
    flip->factor = factor;
    return flip;
  }
  return std::nullopt;
}

double distance(double factor) { return std::max(factor, 1 / factor); }

}  // namespace

std::vector<Flip> find_flips(const predict::Scenario& scenario, const Ranking& ranking, int threads) {
  std::vector<std::optional<Flip>> nearest(inputs().size());
  parallel::for_each_index(static_cast<int>(nearest.size()), threads, [&](int index) {
    const auto input = static_cast<std::size_t>(index);
    nearest[input] = nearest_flip(scenario, ranking, inputs()[input]);
  });
  std::vector<Flip> flips;
  for (std::optional<Flip>& flip : nearest)
    if (flip) flips.push_back(std::move(*flip));
  std::stable_sort(flips.begin(), flips.end(),
                   [](const Flip& a, const Flip& b) { return distance(a.factor) < distance(b.factor); });
  return flips;
}

}  // namespace dovetail::planner
