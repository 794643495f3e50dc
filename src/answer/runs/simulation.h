// A plan played event by event: where every second of every device goes.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/question/section.h"
#include "answer/runs/played_plan.h"
#include "study/sweep.h"

namespace dovetail::answer {

struct SimulationRequest {
  JobInput job;
  std::optional<Input> plan = std::nullopt;
  PlayOptions play = {};
  bool compared = false;  ///< also the other plans of the job, and the plan at each threshold: what pages show
};
template <std::same_as<SimulationRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, JobFile{}, job_file_help),
      option("plan", &T::plan, File{}, "play this plan, a dovetail/plan@1 file, in place of the best that is found"),
      group(&T::play), unlisted(&T::compared));
}

/// A plan, as predicted and as played.
struct SimulationAnswer {
  predict::Scenario scenario;
  plan::Plan plan = {};
  bool found = false;  ///< by a search, not read
  std::uint64_t seed = 1;
  std::optional<double> bound = std::nullopt;  ///< as ChosenPlan's
  predict::Simulation simulation = {};
  std::vector<study::FusionVariant> variants = {};  ///< as PlayedPlan's
  std::vector<std::string> notes = {};              ///< why something is not fused, or how it is
  std::optional<planner::Ranking> ranking =
      std::nullopt;  ///< where it was compared: the plans of the job, where one fits
  std::optional<study::Sweep> thresholds = std::nullopt;  ///< likewise: the plan at each, where generation can be fused
  Outcome outcome = Outcome::done;
};

/// Errors of what is read; of a job that is too large to be played; where no plan fits and none is given; those of
/// predict::Simulator.
base::Result<SimulationAnswer> ask(const SimulationRequest& request, const Watch& watch);

/// How long it takes, step by step, where the time of the devices goes, and what stage fusion gains.
Sections sections(const SimulationAnswer& answer);
/// A dovetail/simulation@1 object.
std::string to_json(const SimulationAnswer& answer);
/// The same with what every device does, span by span.
std::string timeline_json(const SimulationAnswer& answer);

}  // namespace dovetail::answer
