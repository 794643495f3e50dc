// A plan of a job, chosen, fused as asked and played: what `dovetail simulate` and `dovetail report JOB` show.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "cli/plan_search.h"
#include "cli/progress_line.h"
#include "planner/rank/rank.h"
#include "predict/played/simulation.h"
#include "study/fusion_variants.h"

namespace dovetail::cli {

struct PlayArguments {
  PlanSearchArguments search;
  std::optional<study::FusionMode> fuse = std::nullopt;  ///< nothing: as planned
  int iterations = static_cast<int>(predict::SimulationOptions{}.max_iterations);
  int draws = predict::SimulationOptions{}.draws;
  int fused_iterations = static_cast<int>(predict::FusedSearch{}.iterations);
};

/// Adds --fuse, --draws, --most-iterations, --fused-iterations and the options of a search for plans.
void add_play_arguments(CLI::App& command, PlayArguments& arguments);

/// What is to be played.
struct ChosenPlan {
  plan::Plan plan;
  std::optional<double> bound;              ///< seconds that no plan's iteration can beat that fuses no more; nothing where none is known
  std::optional<planner::Ranking> ranking;  ///< of all plans that were found, where some were searched and one fits
  std::vector<std::string> notes;           ///< why something that was asked for is not fused, or how it is
};

/// The plan in the file `plan_path`, else the best that a search finds, with the fusion that was asked for. With `ranked` plans are
/// searched whether there is a file or not. `job_path` is for errors. An Error where no plan fits and none is given, and of a job that is
/// too large to be played.
base::Result<ChosenPlan> choose_plan(const PlayArguments& arguments, const std::string& job_path,
                                     const std::optional<std::string>& plan_path, const predict::Scenario& scenario, bool ranked,
                                     ProgressLine& line);

/// Whether an iteration of the job is small enough to be played event by event, which takes memory and time for each sample; `path` is for
/// the error.
base::Status check_playable(const plan::Job& job, const std::string& path);

/// How plans are played.
predict::SimulationOptions simulation_options(const PlayArguments& arguments);

/// A plan that was played, as it is and with less fusion.
struct PlayedPlan {
  predict::Simulation simulation;
  std::vector<study::FusionVariant> variants;  ///< the least fused first; empty where nothing is fused, or it was stopped
};

base::Result<PlayedPlan> play_plan(const PlayArguments& arguments, const predict::Scenario& scenario, const plan::Plan& plan,
                                   ProgressLine& line);

}  // namespace dovetail::cli
