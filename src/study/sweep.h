// One input of a job or of its plan varied, all else kept: the curves that `dovetail sweep` draws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "planner/rank/rank.h"
#include "predict/closed_form/estimate.h"
#include "predict/played/simulation.h"
#include "study/sweep_input.h"

namespace dovetail::study {

/// Seconds of an iteration, as played on several draws of lengths.
struct PlayedSeconds {
  double mean = 0;
  double least = 0;
  double most = 0;
  std::vector<double> draws = {};  ///< of each (Simulation::draws)
};

/// What moves at a threshold.
struct Migrations {
  int migrating = 0;     ///< draws in which anything does
  double samples = 0;    ///< that move, in their mean
  double instances = 0;  ///< that they move to, in their mean
};

/// What a plan costs and holds at one point.
struct SweepFigures {
  double iteration_seconds = 0;  ///< by predict::estimate
  std::optional<PlayedSeconds> simulated;
  std::optional<Migrations> migrations;  ///< of what was played with a threshold
  // By the simulated mean where there is one, else by iteration_seconds; units as in Estimate.
  double samples_per_second = 0;
  double tokens_per_second = 0;  ///< of each device
  double gpu_hours = 0;          ///< of an iteration
  std::optional<double> price;   ///< of an iteration
  std::int64_t samples = 0;      ///< in an iteration
  predict::Fit fit = predict::Fit::does_not_fit;
  std::size_t fullest = 0;  ///< the task with the least left
  int device = 0;           ///< the one that it has the least left on
  std::int64_t needed = 0;  ///< bytes there
  std::int64_t usable = 0;
  std::int64_t missing = 0;  ///< bytes of the device or of the node's host memory, whatever is more; 0: it fits

  bool fits() const { return fit != predict::Fit::does_not_fit; }
  /// Seconds of an iteration by the better of what is known.
  double seconds() const { return simulated ? simulated->mean : iteration_seconds; }
  double gpu_hours_per_sample() const { return gpu_hours / static_cast<double>(samples); }
};

/// The plan at one value.
struct SweepPoint {
  std::optional<double> value;  ///< in the unit of the input; nothing: without a threshold ("do not migrate")
  plan::Plan plan;  ///< what figures are of: of nodes one that was found there, else the given one with its value
  std::optional<SweepFigures> figures;  ///< nothing where no such plan can be had
  std::string problem = {};             ///< why not: what is wrong; what is accepted
};

struct Sweep {
  SweepInput over = SweepInput::threshold;
  std::optional<std::int64_t> cap;     ///< SweepOptions::cap
  std::vector<SweepPoint> points;      ///< without a threshold first, then by rising value
  std::optional<std::size_t> own;      ///< the point that has what the job or the plan says
  std::optional<std::size_t> fastest;  ///< of what fits the one with the most samples a second (of equals `own`, but of
                                       ///< thresholds the first), where it is one's choice
  std::optional<std::size_t> cheapest;  ///< likewise with the least GPU-hours a sample (of equals `fastest`)
  /// The first point by rising value whose plan does not fit, where one before it does.
  std::optional<std::size_t> overflow;
  bool complete = true;  ///< false: stopped before the last point
};

struct SweepOptions {
  SweepInput over = SweepInput::threshold;
  std::vector<double> values = {};  ///< rising; empty: default_values
  /// Of SweepInput::length: the longest response, in tokens; nothing: it grows as all do.
  std::optional<std::int64_t> cap;
  bool simulate = false;                       ///< every point is played, too
  predict::SimulationOptions simulation = {};  ///< how
  planner::RankOptions rank =
      {};  ///< of SweepInput::nodes: how plans are searched; its time limit is for the whole sweep
  std::function<void(std::size_t point, std::size_t of)> on_point = {};  ///< called before each
};

/// The job's plan with each of the values; of SweepInput::nodes, which needs no plan, the best plan that rank_plans
/// finds on so many nodes (with_nodes). A value that cannot be had, or at which no plan is found, is a point with a
/// problem; one at which the plan does not fit has figures that say so. Where it is stopped, the points so far. An
/// Error where none can be: generation that cannot be fused, a network that the job does not have; those of Simulator;
/// and where it is stopped before there is a point. REQUIRES: a plan without fault but for nodes; values that
/// find_value_fault accepts, rising.
base::Result<Sweep> sweep(const predict::Scenario& scenario, const plan::Plan* plan, const SweepOptions& options);

/// Whether the draws of lengths do not tell a point from the fastest: at one of them at least it took no longer.
/// REQUIRES: a sweep over thresholds, whose points are all played on the same draws; a fastest point.
bool ties_with_fastest(const Sweep& sweep, const SweepPoint& point);

/// "do not migrate", or the point's value in the unit of the input.
std::string label_of(const Sweep& sweep, const SweepPoint& point);

/// Whether points were played, and not only predicted.
bool is_simulated(const Sweep& sweep);

}  // namespace dovetail::study
