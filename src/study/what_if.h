// Estimates the effect of other ways to run a plan: stage fusion, stale policies and partial rollout. Reports iteration
// time, throughput and policy staleness for each.
//
// - Fusion: Simulator simulates the plan with each combination of fusions.
// - Off policy: some devices train while the others generate; inference runs on either. The split that is fastest in
//   the closed form is simulated, and version_lag computes its staleness. Sources for one step off policy: Noukhovitch
//   et al. 2024, arXiv 2410.18252; for several steps: AReaL, arXiv 2505.24298; AsyncFlow, arXiv 2507.01663.
// - Partial rollout: simulate/partial_rollout.h simulates generation over several iterations, in the plan's own layout.
//   There is no long tail to fill, so all other activities take as long as in the simulation without inter-stage
//   fusion. plan::time_iterations combines them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "planner/space/search_space.h"
#include "predict/simulated/simulation.h"
#include "simulate/threshold.h"
#include "study/staleness.h"

namespace dovetail::study {

/// A plan on two meshes without a common device: one trains, the other generates.
struct DeviceSplit {
  int training = 0;        ///< number of devices that train, at the start or the end of the cluster
  int rollout = 0;         ///< number of devices that generate
  int training_first = 0;  ///< first device that trains
  plan::Plan plan = {};
  double iteration_seconds = 0;  ///< closed-form estimate
};

/// Returns the best plan for every split of the cluster that the placement "disaggregated" allows, found by coordinate
/// descent (selection_of). Omits splits whose plan does not keep the margin. Infer tasks move to the training devices
/// if that is faster and fits. Sorted by iteration time, then by the number of training devices. The scenario of
/// `space` sets the steps off policy.
std::vector<DeviceSplit> device_splits(const planner::SearchSpace& space);

/// One way to run the plan.
struct Working {
  enum class Kind {
    fusion,      ///< the plan with the fusions `inter` and `intra`
    off_policy,  ///< devices are split; generation uses weights that are at most `steps` trainings old
    partial      ///< the plan, but generation ends when all responses to a fraction `finished` of the prompts in flight
                 ///< are complete
  };
  Kind kind = Kind::fusion;
  bool inter = false;           ///< for `fusion`: generation is fused with inference
  bool intra = false;           ///< for `fusion`: two trainings are fused
  bool best_threshold = false;  ///< fuses generation at the best threshold instead of the plan's
  int steps = 0;                ///< for `off_policy`
  double finished = 1;          ///< for `partial`
};

/// Result of one way to run the plan.
struct WhatIfFigures {
  plan::Plan plan;
  double iteration_seconds = 0;  ///< mean over the draws, or over the simulated iterations
  double samples_per_second = 0;
  double tokens_per_second = 0;  ///< per device of the cluster
  Staleness staleness;
  predict::Fit fit = predict::Fit::does_not_fit;
  bool simulated = false;    ///< false: closed form, because the training phase is too large or too long for a schedule
  int training_devices = 0;  ///< 0 without a device split
  int rollout_devices = 0;   ///< 0 without a device split
  int training_first = 0;    ///< first device that trains, if devices are split

  bool fits() const { return fit != predict::Fit::does_not_fit; }
};

struct WhatIf {
  Working working;
  bool planned = false;  ///< for `fusion`: whether the plan already runs this way; false for other kinds
  std::optional<WhatIfFigures> figures;  ///< nullopt if it does not apply
  std::string why_not = {};              ///< the reason if there are no figures
};

struct WhatIfOptions {
  predict::SimulationOptions simulation;
  std::vector<int> steps_off_policy = {1, 2, 4};  ///< 0 is added if the job is off policy
  std::vector<double> finished = {0.9, 0.7};      ///< fractions of the prompts in flight, in (0, 1)
  int threads = 1;                                ///< does not affect the result
};

/// Results for all ways to run the plan, and intermediate results that other answers reuse.
struct WhatIfs {
  std::vector<WhatIf> alternatives;                     ///< in this order: fusions, off policy, partial rollout
  std::optional<simulate::ThresholdChoice> thresholds;  ///< nullopt if generation cannot be fused, or if cancelled
  std::optional<predict::FusedTraining> training;       ///< nullopt if no fused training was simulated
  std::vector<DeviceSplit> splits;                      ///< splits at one step off policy
  bool complete = true;                                 ///< false if cancelled before the last alternative
};

/// Finds the result for this fusion, at the plan's threshold if it has one. Returns null if the study was cancelled
/// before this fusion was evaluated.
const WhatIf* find_fusion(const WhatIfs& what_ifs, bool inter, bool intra);
/// Finds the result that fuses generation at this threshold, and fuses trainings if and only if `intra`. Returns null
/// if no such result has figures.
const WhatIf* find_threshold(const WhatIfs& what_ifs, double threshold, bool intra);

/// Evaluates all ways to run the plan. A plan with a threshold is simulated with it and with the best threshold; other
/// plans use only the best one. Splits are searched with all layouts and settings. REQUIRES: a valid plan, at least one
/// draw, and options in their documented ranges.
WhatIfs what_ifs(const predict::Scenario& scenario, const plan::Plan& plan, const WhatIfOptions& options);

}  // namespace dovetail::study
