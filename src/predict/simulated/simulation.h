// Simulates a plan event by event: what every device does in a steady iteration, and how long that takes.
//
// The activities are those of the plan's estimate, with traces of their devices: generation by sample, inference and
// training by op, and weights by transfer. simulate::simulate_iteration runs them. docs/simulation.md describes the
// rules.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "predict/closed_form/estimate.h"
#include "predict/simulated/task_traces.h"
#include "simulate/iteration.h"
#include "simulate/migration.h"

namespace dovetail::predict {

struct SimulationOptions {
  std::uint64_t seed = 1;           ///< seed for sampling lengths
  int draws = 1;                    ///< number of draws of all lengths, each simulated separately
  std::size_t max_iterations = 64;  ///< maximum number of iterations until a steady state
  FusedSearch fused;  ///< search for fused training; limited by the plan's free memory, not by max_activations
  /// Called with a description of each step of the simulation before it starts.
  std::function<void(std::string_view work)> on_progress = {};
};

/// Result of simulating a plan.
struct Simulation {
  Estimate closed;                ///< closed-form estimate; its graph has the activities of `iteration`
  simulate::Iteration iteration;  ///< iteration of the first draw
  std::vector<double> draws;      ///< seconds of an iteration for each simulated draw
  double iteration_seconds = 0;   ///< mean of the draws
  /// [draw] migration at the plan's threshold, or nullopt if nothing migrates; empty if the plan has no threshold
  std::vector<std::optional<simulate::Migration>> migrations;
  std::optional<FusedTraining> training;  ///< set if two train tasks are fused
};

/// Simulates plans of one job. Reuses work that several plans share.
class Simulator {
 public:
  /// `scenario` must outlive it.
  Simulator(const Scenario& scenario, SimulationOptions options);

  /// Simulates a plan. If stopped after the first draw, the other draws are left out. If stopped earlier, returns an
  /// Error (parallel::stopped_before). Other Errors as in training_problem and fused_training_problem. REQUIRES: the
  /// plan has no fault, and there is at least one draw.
  base::Result<Simulation> simulate(const plan::Plan& plan);
  /// Simulates a plan in the same way, given its estimate `closed`.
  base::Result<Simulation> simulate(const plan::Plan& plan, Estimate closed);

 private:
  /// The last fused training, and its input.
  struct Fused {
    plan::TrainPair tasks{};
    plan::TaskPlan first;
    plan::TaskPlan second;
    std::optional<std::int64_t> max_activations;
    FusedTraining training;
  };
  base::Result<FusedTraining> fused_training(const plan::Plan& plan);
  /// Returns the activities of the graph: [activity]. Generation, which depends on a draw, and activities within
  /// another activity have no trace.
  base::Result<std::vector<simulate::Activity>> fixed_activities(const plan::Plan& plan,
                                                                 const Simulation& simulation) const;
  void add_draw(const plan::Plan& plan, const Draw& draw, Simulation& simulation, simulate::Workload& workload) const;
  void report(std::string_view work) const;
  base::Status check_not_stopped() const;

  const Scenario& scenario_;
  SimulationOptions options_;
  std::optional<Fused> fused_;
  simulate::TransferCache transfer_cache_;
};

}  // namespace dovetail::predict
