#include "answer/runs/chosen_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "answer/text/figures.h"
#include "plan/fusion.h"
#include "planner/bound/bound.h"
#include "planner/space/fused_activities.h"
#include "planner/space/search_space.h"
#include "predict/simulated/inter_stage.h"

namespace dovetail::answer {
namespace {

/// Lower bound for plans that fuse no more than the chosen one; nullopt if unknown.
std::optional<double> bound_of(const predict::Scenario& scenario, const planner::RankOptions& options,
                               const ChosenPlan& chosen) {
  const plan::Fusion& fusion = chosen.plan.fusion;
  const planner::FusionSelection fuses{.generation = fusion.threshold.has_value(),
                                       .training = fusion.training.has_value()};
  if (const auto& ranking = chosen.ranking) {
    if (!fuses.any()) return ranking->bound > 0 ? std::optional(ranking->bound) : std::nullopt;
    // The ranking's bound covers all fusion that the job allows. The chosen plan may fuse less than that, or more with
    // --fuse.
    if (ranking->fused_bound && planner::open_fusion(scenario.job) == fuses) return ranking->fused_bound;
  }
  const planner::SearchSpace space = planner::make_search_space(scenario, planner::search_meshes(scenario.job),
                                                                {options.option_set}, options.search.threads);
  if (planner::impossible_task(space)) return std::nullopt;
  const double bound = planner::period_bound(space, fuses);
  return bound > 0 ? std::optional(predict::iteration_seconds(scenario, bound)) : std::nullopt;
}

/// Plan to apply fusion to, and the notes about the result.
struct FusionRequest {
  const predict::Scenario& scenario;
  const ChosenPlanOptions& options;
  plan::Plan& plan;
  std::vector<std::string>& notes;
};

void fuse_training(const FusionRequest& target) {
  plan::Plan& plan = target.plan;
  if (plan.fusion.training) return;
  const std::optional<plan::TrainPair> pair = plan::train_pair(target.scenario.job);
  const std::optional<std::string> fault =
      pair ? plan::find_training_fault(target.scenario.job, *pair, plan.tasks[(*pair)[0]], plan.tasks[(*pair)[1]])
           : "no two trainings of different models can run at the same time";
  if (fault)
    target.notes.push_back("training is not fused: " + plan::as_reason(*fault));
  else
    plan.fusion.training = pair;
}

/// Uses the best of the simulated thresholds.
void fuse_generation(const FusionRequest& target) {
  plan::Plan& plan = target.plan;
  if (plan.fusion.threshold) return;
  constexpr double any = 0.5;
  if (const auto fault = plan::find_threshold_fault(any, target.scenario.job, plan.tasks)) {
    target.notes.push_back("generation is not fused with inference: " + plan::as_reason(*fault));
    return;
  }
  // A single draw does not identify the best threshold.
  const int draws = std::max(target.options.draws, 3);
  const auto chosen = predict::simulated_thresholds(target.scenario, plan, target.options.search.budget.seed, draws);
  if (!chosen) {
    target.notes.push_back(
        "generation is not fused with inference: the command was stopped before a threshold was chosen");
    return;
  }
  const simulate::ThresholdChoice& choice = *chosen;
  plan.fusion.threshold = choice.points[choice.best].threshold;
  const auto seconds = [](const simulate::ThresholdPoint& point) {
    return seconds_text(base::seconds_of_ticks(point.value));
  };
  if (plan.fusion.threshold)
    target.notes.push_back(
        fmt::format("generation and inference are fused at {:g}% unfinished samples, the best of {} thresholds: they "
                    "take {} instead "
                    "of {} (mean of {} draws)",
                    *plan.fusion.threshold * 100, choice.points.size() - 1, seconds(choice.points[choice.best]),
                    seconds(choice.points.front()), draws));
  else
    target.notes.push_back("generation is not fused with inference: " +
                           predict::find_migration_fault(target.scenario, plan, choice)
                               .value_or("no threshold makes fusion faster than running both stages in sequence"));
}

/// Applies the requested fusion to the plan, or adds a note on why it is impossible.
void apply_fusion(const FusionRequest& target) {
  const std::optional<study::FusionMode> fuse = target.options.fuse;
  if (!fuse) return;
  if (!study::fuses_training(*fuse)) target.plan.fusion.training = std::nullopt;
  if (!study::fuses_generation(*fuse)) target.plan.fusion.threshold = std::nullopt;
  if (study::fuses_training(*fuse)) fuse_training(target);
  if (study::fuses_generation(*fuse)) fuse_generation(target);
  if (!plan::agrees(target.scenario.job.fixed_fusion, target.plan.fusion))
    target.notes.push_back("--fuse overrides the fusion that the job fixes (`fixed: {fusion: ...}`)");
}

}  // namespace

base::Status check_can_simulate(const plan::Job& job, const Input& input) {
  constexpr std::int64_t max_samples = std::int64_t{1} << 22;
  if (job.workload.samples() <= max_samples) return {};
  return base::Error{base::Failure::bad_input, name_of(input), 0, 0,
                     fmt::format("an iteration has {} samples, too many to simulate; accepted: at most {} (dovetail "
                                 "plan uses the analytical model)",
                                 job.workload.samples(), max_samples)};
}

base::Result<ChosenPlan> choose_plan(const ChosenPlanOptions& options, const Input& job, const LoadedJob& loaded,
                                     bool ranked, const Callbacks& callbacks) {
  const predict::Scenario& scenario = loaded.scenario;
  DOVETAIL_TRY(const planner::RankOptions search, rank_options(options.search, scenario.job.placements, callbacks));
  ChosenPlan chosen;
  if (!loaded.plan || ranked) {
    auto ranking =
        find_plans(scenario, search, job, "; see dovetail fit, or give --plan to use a plan that does not fit");
    if (ranking.ok())
      chosen.ranking = std::move(ranking).value();
    else if (!loaded.plan || ranking.error().failure != base::Failure::infeasible)
      return std::move(ranking).error();
  }
  chosen.plan = loaded.plan ? *loaded.plan : chosen.ranking->plans.front().plan;
  notify_work(callbacks, "choosing the fusion");
  apply_fusion({scenario, options, chosen.plan, chosen.notes});
  chosen.bound = bound_of(scenario, search, chosen);
  return chosen;
}

predict::SimulationOptions simulation_options(const ChosenPlanOptions& given) {
  predict::SimulationOptions options;
  options.seed = given.search.budget.seed;
  options.draws = given.draws;
  options.max_iterations = static_cast<std::size_t>(given.max_iterations);
  options.fused.iterations = given.fused_iterations;
  return options;
}

base::Result<SimulatedPlan> simulate_plan(const ChosenPlanOptions& given, const predict::Scenario& scenario,
                                          const plan::Plan& plan, const Callbacks& callbacks) {
  predict::SimulationOptions options = simulation_options(given);
  options.on_progress = [&callbacks](std::string_view work) { notify_work(callbacks, work); };
  predict::Simulator simulator(scenario, options);
  DOVETAIL_TRY(predict::Simulation simulation, simulator.simulate(plan));
  auto variants = study::simulate_fusion_variants(simulator, plan, simulation);
  if (!variants.ok() && !scenario.is_stopped()) return variants.error();
  return SimulatedPlan{std::move(simulation),
                       variants.ok() ? std::move(variants).value() : std::vector<study::FusionVariant>()};
}

}  // namespace dovetail::answer
