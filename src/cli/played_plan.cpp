#include "cli/played_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "answer/words/amounts.h"
#include "base/file.h"
#include "cli/arguments.h"
#include "cli/interrupt.h"
#include "cli/job.h"
#include "cli/plan_search.h"
#include "plan/fusion.h"
#include "planner/bound/bound.h"
#include "planner/space/fused_activities.h"
#include "planner/space/search_space.h"
#include "predict/played/inter_stage.h"

namespace dovetail::cli {
namespace {

/// What no plan of the job that fuses no more than the chosen one can beat; nothing where none is known.
std::optional<double> bound_of(const predict::Scenario& scenario, const planner::RankOptions& options, const ChosenPlan& chosen) {
  const plan::Fusion& fusion = chosen.plan.fusion;
  const planner::FusionSelection fuses{.generation = fusion.threshold.has_value(), .training = fusion.training.has_value()};
  if (const auto& ranking = chosen.ranking) {
    if (!fuses.any()) return ranking->bound > 0 ? std::optional(ranking->bound) : std::nullopt;
    // It holds for all that the job lets plans fuse, which may be more, and with --fuse less, than this one does.
    if (ranking->fused_bound && planner::open_fusion(scenario.job) == fuses) return ranking->fused_bound;
  }
  const planner::SearchSpace space =
      planner::make_search_space(scenario, planner::search_meshes(scenario.job), {options.option_set}, options.search.threads);
  if (planner::impossible_task(space)) return std::nullopt;
  const double bound = planner::period_bound(space, fuses);
  return bound > 0 ? std::optional(predict::iteration_seconds(scenario, bound)) : std::nullopt;
}

/// A chosen plan to be fused.
struct Asked {
  const predict::Scenario& scenario;
  const PlayArguments& arguments;
  plan::Plan& plan;
  std::vector<std::string>& notes;
};

void fuse_training(const Asked& asked) {
  plan::Plan& plan = asked.plan;
  if (plan.fusion.training) return;
  const std::optional<plan::TrainPair> pair = plan::train_pair(asked.scenario.job);
  const std::optional<std::string> fault =
      pair ? plan::find_training_fault(asked.scenario.job, *pair, plan.tasks[(*pair)[0]], plan.tasks[(*pair)[1]])
           : "no two trainings of different models can run together: there is nothing to fuse with";
  if (fault)
    asked.notes.push_back("training is not fused: " + plan::as_reason(*fault));
  else
    plan.fusion.training = pair;
}

/// With the threshold that is the best of those simulated.
void fuse_generation(const Asked& asked) {
  plan::Plan& plan = asked.plan;
  if (plan.fusion.threshold) return;
  constexpr double any = 0.5;
  if (const auto fault = plan::find_threshold_fault(any, asked.scenario.job, plan.tasks)) {
    asked.notes.push_back("generation is not fused with inference: " + plan::as_reason(*fault));
    return;
  }
  // One draw says little of the best.
  const int draws = std::max(asked.arguments.draws, 3);
  const auto chosen = predict::simulated_thresholds(asked.scenario, plan, asked.arguments.search.budget.seed, draws);
  if (!chosen) {
    asked.notes.push_back("generation is not fused with inference: the command was stopped before a threshold was chosen");
    return;
  }
  const simulate::ThresholdChoice& choice = *chosen;
  plan.fusion.threshold = choice.points[choice.best].threshold;
  const auto seconds = [](const simulate::ThresholdPoint& point) { return answer::seconds_text(base::seconds_of_ticks(point.value)); };
  if (plan.fusion.threshold)
    asked.notes.push_back(
        fmt::format("generation and inference are fused at {:g}% unfinished samples: {} in place of {}, the best of {} thresholds in the "
                    "mean of {} draws",
                    *plan.fusion.threshold * 100, seconds(choice.points[choice.best]), seconds(choice.points.front()),
                    choice.points.size() - 1, draws));
  else
    asked.notes.push_back("generation is not fused with inference: " +
                          predict::find_migration_fault(asked.scenario, plan, choice)
                              .value_or("no threshold makes both stages shorter than one after the other"));
}

/// Gives the plan the fusion that was asked for; says why where it cannot be.
void fuse_as_asked(const Asked& asked) {
  const std::optional<study::FusionMode> fuse = asked.arguments.fuse;
  if (!fuse) return;
  if (!study::fuses_training(*fuse)) asked.plan.fusion.training = std::nullopt;
  if (!study::fuses_generation(*fuse)) asked.plan.fusion.threshold = std::nullopt;
  if (study::fuses_training(*fuse)) fuse_training(asked);
  if (study::fuses_generation(*fuse)) fuse_generation(asked);
  if (!plan::agrees(asked.scenario.job.fixed_fusion, asked.plan.fusion))
    asked.notes.push_back("the job fixes another fusion (`fixed: {fusion: ...}`): --fuse goes before it");
}

}  // namespace

void add_play_arguments(CLI::App& command, PlayArguments& arguments) {
  add_choice_option(command, "--fuse", "as-planned|none|intra|inter|both",
                    "stage fusion: what the plan says, nothing, the trainings, generation with scoring, or both",
                    [&arguments](const std::string& mode) { arguments.fuse = base::enum_named<study::FusionMode>(mode); });
  add_count_option(command, "--draws", arguments.draws, 1, 1000, "how often the lengths of all samples are drawn and played");
  add_count_option(command, "--most-iterations", arguments.iterations, 2, 100'000, "to play until they repeat");
  add_count_option(command, "--fused-iterations", arguments.fused_iterations, 1, 1'000'000'000,
                   "of the search for the fused training's schedule");
  add_plan_search_arguments(command, arguments.search);
}

base::Status check_playable(const plan::Job& job, const std::string& path) {
  constexpr std::int64_t most = std::int64_t{1} << 22;
  if (job.workload.samples() <= most) return {};
  return base::Error{
      base::Failure::bad_input, base::display_path(path), 0, 0,
      fmt::format("an iteration has {} samples, too many to be played event by event; accepted: at most {} (dovetail plan has "
                  "the closed form)",
                  job.workload.samples(), most)};
}

base::Result<ChosenPlan> choose_plan(const PlayArguments& arguments, const std::string& job_path,
                                     const std::optional<std::string>& plan_path, const predict::Scenario& scenario, bool ranked,
                                     ProgressLine& line) {
  DOVETAIL_CHECK(check_playable(scenario.job, job_path));
  DOVETAIL_TRY(const planner::RankOptions options, rank_options(arguments.search, scenario.job.placements, line));
  ChosenPlan chosen;
  if (plan_path) {
    DOVETAIL_TRY(chosen.plan, load_plan(*plan_path, scenario.job, scenario.software));
  }
  if (!plan_path || ranked) {
    auto ranking = find_plans(scenario, options, job_path, "; dovetail fit says what is missing, and --plan plays one that does not");
    if (ranking.ok())
      chosen.ranking = std::move(ranking).value();
    else if (!plan_path || ranking.error().failure != base::Failure::infeasible)
      return std::move(ranking).error();
  }
  if (!plan_path) chosen.plan = chosen.ranking->plans.front().plan;
  line.update(std::string_view("choosing what is fused"));
  fuse_as_asked({scenario, arguments, chosen.plan, chosen.notes});
  chosen.bound = bound_of(scenario, options, chosen);
  return chosen;
}

predict::SimulationOptions simulation_options(const PlayArguments& arguments) {
  predict::SimulationOptions options;
  options.seed = arguments.search.budget.seed;
  options.draws = arguments.draws;
  options.max_iterations = static_cast<std::size_t>(arguments.iterations);
  options.fused = {
      .iterations = arguments.fused_iterations,
  };
  return options;
}

base::Result<PlayedPlan> play_plan(const PlayArguments& arguments, const predict::Scenario& scenario, const plan::Plan& plan,
                                   ProgressLine& line) {
  predict::SimulationOptions options = simulation_options(arguments);
  options.on_progress = [&line](std::string_view work) { line.update(work); };
  predict::Simulator simulator(scenario, options);
  DOVETAIL_TRY(predict::Simulation simulation, simulator.simulate(plan));
  auto variants = study::play_fusion_variants(simulator, plan, simulation);
  if (!variants.ok() && !scenario.is_stopped()) return variants.error();
  return PlayedPlan{std::move(simulation), variants.ok() ? std::move(variants).value() : std::vector<study::FusionVariant>()};
}

}  // namespace dovetail::cli
