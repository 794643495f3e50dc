// Simulates a plan event by event and breaks down the time of every device.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "answer/question/section.h"
#include "answer/runs/chosen_plan.h"
#include "predict/simulated/simulation.h"
#include "study/sweep.h"

namespace dovetail::answer {

struct SimulationRequest {
  JobInput job;
  std::optional<Input> plan = std::nullopt;
  ChosenPlanOptions plan_options = {};
  bool compared = false;  ///< also search the other plans of the job and simulate each threshold, for report pages
};
template <std::same_as<SimulationRequest> T>
auto options_of(const T*) {
  return options<T>(
      option("JOB", &T::job, JobFile{}, job_file_help),
      option("plan", &T::plan, File{}, "plan to simulate (default: the configuration's, else best found)"),
      group(&T::plan_options), unlisted(&T::compared));
}

/// Plan with its prediction and simulation.
struct SimulationAnswer {
  predict::Scenario scenario;
  plan::Plan plan = {};
  bool found = false;  ///< the plan comes from a search
  std::uint64_t seed = 1;
  std::optional<double> bound = std::nullopt;  ///< see ChosenPlan
  predict::Simulation simulation = {};
  std::vector<study::FusionVariant> variants = {};         ///< see SimulatedPlan
  std::vector<std::string> notes = {};                     ///< how the requested fusion was applied, or why the plan
                                                           ///< does not fuse more
  std::optional<planner::Ranking> ranking = std::nullopt;  ///< plans of the job; set if `compared` and some plan fits
  std::optional<study::Sweep> thresholds = std::nullopt;   ///< the plan at each threshold; set if `compared` and
                                                           ///< generation can be fused
  /// The plan of the trainer's configuration with its estimate; set if `compared` and another plan was given.
  struct Configured {
    plan::Plan plan;
    predict::Estimate estimate;
  };
  std::optional<Configured> configured = std::nullopt;
  bool as_configured = false;  ///< the plan is the one of the trainer's configuration
  Outcome outcome = Outcome::done;
};

/// Errors: input that cannot be read, a job that is too large to simulate, a search that finds no plan that fits, and
/// errors of predict::Simulator.
base::Result<SimulationAnswer> answer_to(const SimulationRequest& request, const Callbacks& callbacks);

/// Iteration time by activity, use of the devices, and gains of stage fusion.
Sections sections(const SimulationAnswer& answer);
/// A dovetail/simulation@1 object.
std::string to_json(const SimulationAnswer& answer);
/// The object of to_json, with the spans of every device.
std::string timeline_json(const SimulationAnswer& answer);

/// One activity, or several that are fused into one. Times are in seconds.
struct ActivityLine {
  std::size_t activity = 0;  ///< index in the graph of predict::Estimate
  std::string name;          ///< "actor_train + critic_train", "weights to actor_generate"
  std::string devices;       ///< "0-255"; empty if it uses none
  double begin = 0;          ///< seconds since the start of the first activity other than host transfers
  double simulated = 0;      ///< duration in the simulation
  double closed = 0;         ///< duration in the analytical model
};

/// Returns the activities in the order of the iteration's graph. Fused activities share a line. `plan` is the plan that
/// was simulated.
std::vector<ActivityLine> activity_lines(const predict::Scenario& scenario, const plan::Plan& plan,
                                         const predict::Simulation& simulation);

}  // namespace dovetail::answer
