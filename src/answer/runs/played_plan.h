// A plan of a job, chosen, fused as asked and played.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/plans/job_input.h"
#include "answer/plans/search_options.h"
#include "predict/played/simulation.h"
#include "study/fusion_variants.h"

namespace dovetail::answer {

struct PlayOptions {
  std::optional<study::FusionMode> fuse = std::nullopt;  ///< nothing: as planned
  int draws = predict::SimulationOptions{}.draws;
  int max_iterations = static_cast<int>(predict::SimulationOptions{}.max_iterations);
  int fused_iterations = static_cast<int>(predict::FusedSearch{}.iterations);
  PlanSearchOptions search = {};
};
template <std::same_as<PlayOptions> T>
auto options_of(const T*) {
  return options<T>(
      option("fuse", &T::fuse, Choice{.none = "as-planned"},
             "stage fusion: what the plan says, nothing, the trainings, generation with scoring, or both"),
      option("draws", &T::draws, Count{1, 1000}, "how often the lengths of all samples are drawn and played"),
      option("most-iterations", &T::max_iterations, Count{2, 100'000}, "to play until they repeat"),
      option("fused-iterations", &T::fused_iterations, Count{1, 1'000'000'000},
             "of the search for the fused training's schedule"),
      group(&T::search));
}

/// What is to be played.
struct ChosenPlan {
  plan::Plan plan;
  /// Seconds that no plan's iteration can beat that fuses no more; nothing where none is known.
  std::optional<double> bound;
  std::optional<planner::Ranking> ranking;  ///< of all plans that were found, where some were searched and one fits
  std::vector<std::string> notes;           ///< why something that was asked for is not fused, or how it is
};

/// An Error where an iteration of the job is too large to be played event by event, which takes memory and time for
/// each sample.
base::Status check_playable(const plan::Job& job, const Input& input);

/// The plan that is asked about, else the best that a search finds, with the fusion that was asked for. With `ranked`
/// plans are searched in any case. `job` is for errors: where no plan fits and none is given.
base::Result<ChosenPlan> choose_plan(const PlayOptions& options, const Input& job, const AskedJob& asked, bool ranked,
                                     const Watch& watch);

/// How plans are played.
predict::SimulationOptions simulation_options(const PlayOptions& options);

/// A plan that was played, as it is and with less fusion.
struct PlayedPlan {
  predict::Simulation simulation;
  /// The least fused first; empty where nothing is fused, or it was stopped.
  std::vector<study::FusionVariant> variants;
};

base::Result<PlayedPlan> play_plan(const PlayOptions& options, const predict::Scenario& scenario,
                                   const plan::Plan& plan, const Watch& watch);

}  // namespace dovetail::answer
