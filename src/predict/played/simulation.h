// A plan played event by event: what every device does in a steady iteration, and how long that takes.
//
// The activities are those of the plan's estimate, each with what its devices do: generation sample by sample,
// inference and training op by op, weights transfer by transfer. They are played by simulate::play_iterations.
// docs/simulation.md has the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "predict/closed_form/estimate.h"
#include "predict/played/generation.h"
#include "predict/played/training.h"
#include "simulate/iteration.h"
#include "simulate/migration.h"

namespace dovetail::predict {

struct SimulationOptions {
  std::uint64_t seed = 1;           ///< of the lengths that are drawn
  int draws = 1;                    ///< of all samples' lengths, each simulated by itself
  std::size_t max_iterations = 64;  ///< to wait for a steady state
  FusedSearch fused;                ///< its max_activations is not used: what the plan leaves of the devices is
  std::function<void(std::string_view work)> on_progress = {};  ///< told what begins
};

/// What a plan does.
struct Simulation {
  Estimate closed;                ///< by closed forms; its graph's activities are those of the iteration
  simulate::Iteration iteration;  ///< of the first draw
  std::vector<double> draws;      ///< seconds of an iteration, of each draw that was played
  double iteration_seconds = 0;   ///< the mean of the draws
  /// [draw] of a plan with a threshold: what migrates; nothing where none does
  std::vector<std::optional<simulate::Migration>> migrations;
  std::optional<FusedTraining> training;  ///< where two train tasks are fused
};

/// Simulates plans of one job: what several of them have in common is worked out once.
class Simulator {
 public:
  /// `scenario` must outlive it.
  Simulator(const Scenario& scenario, SimulationOptions options);

  /// Where it is stopped after the first draw, the others are left out; earlier it is an Error
  /// (parallel::stopped_before). Other Errors as training_problem and fused_training_problem. REQUIRES: the plan has no
  /// fault, at least one draw.
  base::Result<Simulation> simulate(const plan::Plan& plan);
  /// The same; `closed` is the estimate of the plan.
  base::Result<Simulation> simulate(const plan::Plan& plan, Estimate closed);

 private:
  /// The last fused training, and what it is of.
  struct Fused {
    plan::TrainPair tasks{};
    plan::TaskPlan first;
    plan::TaskPlan second;
    std::optional<std::int64_t> max_activations;
    FusedTraining training;
  };
  base::Result<FusedTraining> fused_training(const plan::Plan& plan);
  /// [activity of the graph]; those that draws decide on have no trace yet.
  base::Result<std::vector<simulate::Activity>> fixed_activities(const plan::Plan& plan,
                                                                 const Simulation& simulation) const;
  void add_draw(const plan::Plan& plan, const Draw& draw, Simulation& simulation, simulate::Workload& workload) const;
  void tell(std::string_view work) const;
  base::Status go_on() const;

  const Scenario& scenario_;
  SimulationOptions options_;
  std::optional<Fused> fused_;
  simulate::Courses courses_;
};

}  // namespace dovetail::predict
