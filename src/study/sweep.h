// Sweeps: vary one input of a job or its plan and keep everything else. `dovetail sweep` draws the resulting curves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.h"
#include "base/result.h"
#include "plan/job.h"
#include "plan/plan.h"
#include "planner/rank/rank.h"
#include "predict/closed_form/estimate.h"
#include "predict/closed_form/software.h"
#include "predict/simulated/simulation.h"

namespace dovetail::study {

enum class SweepInput {
  threshold,    ///< fraction of samples still in generation when they migrate (plan::Fusion)
  batch,        ///< prompts per iteration; the number of optimizer steps stays the same
  samples,      ///< samples per prompt
  length,       ///< factor on all response lengths
  micro_batch,  ///< factor on the micro-batch sizes of training
  mini_batch,   ///< optimizer steps per epoch
  staleness,    ///< steps off policy: number of trainings that the generating weights may lag
  bandwidth,    ///< factor on the bandwidth of all networks between nodes
  nodes         ///< number of nodes; plans are searched again
};

constexpr auto names_of(SweepInput) {
  return std::array{base::EnumName{"threshold", SweepInput::threshold},
                    base::EnumName{"batch", SweepInput::batch},
                    base::EnumName{"samples", SweepInput::samples},
                    base::EnumName{"length", SweepInput::length},
                    base::EnumName{"micro-batch", SweepInput::micro_batch},
                    base::EnumName{"mini-batches", SweepInput::mini_batch},
                    base::EnumName{"staleness", SweepInput::staleness},
                    base::EnumName{"bandwidth", SweepInput::bandwidth},
                    base::EnumName{"nodes", SweepInput::nodes}};
}
/// Label of the values' axis, such as "prompts per iteration".
std::string_view axis_name(SweepInput input);
/// Whether users choose the input, so that one value is the best. Other inputs are external conditions.
bool is_choice(SweepInput input);
/// Formats a value of the input: "20%", "512", "1.5x".
std::string value_text(SweepInput input, double value);

/// Returns the accepted values if `value` is invalid; nullopt if it is valid.
std::optional<std::string> find_value_fault(SweepInput input, double value);
/// Parses comma-separated values: "5%,20%" (or "0.05,0.2"), "128,256", "0.5x,2" and similar. Returns them in increasing
/// order without duplicates, or an Error without location if one is invalid.
base::Result<std::vector<double>> parse_values(SweepInput input, std::string_view text);

/// The value in the job or the plan, or 1 for factors; nullopt if the plan has no threshold. REQUIRES: a plan, except
/// for nodes.
std::optional<double> own_value(SweepInput input, const plan::Job& job, const plan::Plan* plan);
/// Returns the default values in increasing order, including own_value if there is one. Thresholds are
/// simulate::default_thresholds(), factors go from 0.25 to 8, and staleness from 0 to 8. Counts go from a quarter of
/// own_value to four times own_value. REQUIRES: a plan, except for nodes.
std::vector<double> default_values(SweepInput input, const plan::Job& job, const plan::Plan* plan);

/// A job and its plan at one value.
struct SweptJob {
  plan::Job job;
  plan::Plan plan;
};
/// Returns the job and the plan with the value, or an Error if the value is not possible. `cap` is SweepOptions::cap.
/// REQUIRES: not SweepInput::nodes; find_value_fault finds no fault.
base::Result<SweptJob> with_value(SweepInput input, double value, const plan::Job& job, const plan::Plan& plan,
                                  std::optional<std::int64_t> cap);

/// Simulated seconds per iteration, over several draws of lengths.
struct SimulatedSeconds {
  double mean = 0;
  double min = 0;
  double max = 0;
  std::vector<double> draws = {};  ///< seconds of each draw (Simulation::draws)
};

/// Migrations at a threshold.
struct Migrations {
  int migrating = 0;     ///< number of draws with a migration
  double samples = 0;    ///< mean number of samples that migrate in these draws
  double instances = 0;  ///< mean number of destination instances in these draws
};

/// Cost and memory of a plan at one point.
struct SweepFigures {
  double iteration_seconds = 0;  ///< from predict::estimate
  std::optional<SimulatedSeconds> simulated;
  std::optional<Migrations> migrations;  ///< only for simulations with a threshold
  // Figures computed from the simulated mean if there is one, otherwise from iteration_seconds. Units are those of
  // Estimate.
  double samples_per_second = 0;
  double tokens_per_second = 0;  ///< per device
  double gpu_hours = 0;          ///< per iteration
  std::optional<double> price;   ///< per iteration
  std::int64_t samples = 0;      ///< per iteration
  predict::Fit fit = predict::Fit::does_not_fit;
  std::size_t fullest = 0;  ///< planner::min_margin_task
  int device = 0;           ///< TaskMemory::device of that task
  std::int64_t needed = 0;  ///< bytes needed on that device
  std::int64_t usable = 0;
  std::int64_t missing = 0;  ///< larger shortage of device or host memory, in bytes; 0 if it fits

  bool fits() const { return fit != predict::Fit::does_not_fit; }
  /// Seconds of an iteration: simulated if available, else estimated.
  double seconds() const { return simulated ? simulated->mean : iteration_seconds; }
  double gpu_hours_per_sample() const { return gpu_hours / static_cast<double>(samples); }
};

/// The plan at one value.
struct SweepPoint {
  std::optional<double> value;  ///< in the unit of the input; nullopt: no threshold ("do not migrate")
  /// Plan that the figures describe: for nodes, the plan found; otherwise, the given plan with the value.
  plan::Plan plan;
  std::optional<SweepFigures> figures;  ///< nullopt if the value is not possible
  std::string problem = {};             ///< why the value is not possible
};

struct Sweep {
  SweepInput over = SweepInput::threshold;
  std::optional<std::int64_t> cap;  ///< SweepOptions::cap
  std::vector<SweepPoint> points;   ///< the point without a threshold first, then by increasing value
  std::optional<std::size_t> own;   ///< the point with the value of the job or plan
  std::optional<std::size_t>
      fastest;  ///< among points that fit, the one with the most samples per second; nullopt if the input is not a
                ///< choice. Ties go to `own`, or for thresholds to the first point.
  std::optional<std::size_t> cheapest;  ///< like `fastest`, with the fewest GPU-hours per sample; ties go to `fastest`
  /// The first point whose plan does not fit after one that fits, by increasing value.
  std::optional<std::size_t> overflow;
  /// False if canceled before the last point. The best points and the overflow are then not set.
  bool complete = true;
};

struct SweepOptions {
  SweepInput over = SweepInput::threshold;
  std::vector<double> values = {};  ///< increasing; empty: default_values
  /// Maximum response length for SweepInput::length, in tokens; nullopt: no maximum.
  std::optional<std::int64_t> cap;
  bool simulate = false;                       ///< whether to simulate every point
  predict::SimulationOptions simulation = {};  ///< options of these simulations
  planner::RankOptions rank = {};  ///< search options for SweepInput::nodes; the time limit is for the whole sweep
  std::function<void(std::size_t point, std::size_t of)> on_point = {};  ///< called before each point
};

/// Evaluates the plan at each value. SweepInput::nodes needs no plan and uses the best plan that rank_plans finds for
/// each node count (with_nodes). A point has a `problem` if its value is not possible or no plan is found. It has
/// figures even if its plan does not fit. If canceled, returns the points so far. Returns an Error if the input cannot
/// vary (for example, a threshold if generation cannot be fused), or if canceled before the first point. Also returns
/// the Errors of Simulator and rank_plans, except Failure::infeasible. REQUIRES: a valid plan, except for nodes;
/// increasing values that find_value_fault accepts.
base::Result<Sweep> sweep(const predict::Scenario& scenario, const plan::Plan* plan, const SweepOptions& options);

/// Whether a point may be as fast as the fastest one: in at least one draw, it took at most as long.
/// REQUIRES: a sweep over thresholds whose points are all simulated on the same draws; a fastest point.
bool ties_with_fastest(const Sweep& sweep, const SweepPoint& point);

/// Label of a point: "do not migrate", or its value in the unit of the input.
std::string label_of(const Sweep& sweep, const SweepPoint& point);

/// Whether any point was simulated.
bool is_simulated(const Sweep& sweep);

}  // namespace dovetail::study
