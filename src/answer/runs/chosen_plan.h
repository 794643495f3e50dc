// Chooses a plan of a job, applies the requested fusion, and simulates it.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/plans/job_input.h"
#include "answer/plans/search_options.h"
#include "predict/simulated/simulation.h"
#include "study/fusion_variants.h"

namespace dovetail::answer {

struct ChosenPlanOptions {
  std::optional<study::FusionMode> fuse = std::nullopt;  ///< nullopt: as planned
  int draws = predict::SimulationOptions{}.draws;
  int max_iterations = static_cast<int>(predict::SimulationOptions{}.max_iterations);
  int fused_iterations = static_cast<int>(predict::FusedSearch{}.iterations);
  PlanSearchOptions search = {};
};
template <std::same_as<ChosenPlanOptions> T>
auto options_of(const T*) {
  return options<T>(
      option("fuse", &T::fuse, Choice{.none = "as-planned"}, "fusion (intra: trainings; inter: generation, inference)"),
      option("draws", &T::draws, Count{1, 1000}, "random draws of sample lengths to simulate (default {})"),
      option("most-iterations", &T::max_iterations, Count{2, 100'000},
             "max iterations to simulate until a steady state (default {})"),
      option("fused-iterations", &T::fused_iterations, Count{1, 1'000'000'000},
             "search iterations for the fused training schedule (default {})"),
      group(&T::search));
}

/// Plan of a job, with the requested fusion, for a simulation, a replay or a training run.
struct ChosenPlan {
  plan::Plan plan;
  /// Lower bound on the iteration time, in seconds, of plans that fuse no more than `plan`; nullopt if unknown.
  std::optional<double> bound;
  std::optional<planner::Ranking> ranking;  ///< plans found by the search; nullopt without a search or if no plan fits
  std::vector<std::string> notes;           ///< how the requested fusion was applied, or why it was not
};

/// Returns an Error if an iteration of the job has too many samples to simulate.
base::Status check_can_simulate(const plan::Job& job, const Input& input);

/// Returns the plan of `loaded`, otherwise the best one found, with the requested fusion. If `ranked`, searches plans
/// even if `loaded` has one. Returns an Error if `loaded` has no plan and the search finds no plan that fits. Errors
/// name the input `job`.
base::Result<ChosenPlan> choose_plan(const ChosenPlanOptions& options, const Input& job, const LoadedJob& loaded,
                                     bool ranked, const Callbacks& callbacks);

/// Converts the options to those of predict::Simulator.
predict::SimulationOptions simulation_options(const ChosenPlanOptions& options);

/// Simulation of a plan, and of the plan with less fusion.
struct SimulatedPlan {
  predict::Simulation simulation;
  /// The plan with less fusion, in one or several variants, then the plan itself. Empty if the plan fuses nothing or
  /// the simulation was stopped.
  std::vector<study::FusionVariant> variants;
};

base::Result<SimulatedPlan> simulate_plan(const ChosenPlanOptions& options, const predict::Scenario& scenario,
                                          const plan::Plan& plan, const Callbacks& callbacks);

}  // namespace dovetail::answer
