// What other ways of working would give: fusions, older policies, partial rollout, each played and beside each other,
// with what of the samples' freshness they cost.
//
// - Fusions and what the plan says are played by Simulator.
// - Off policy (one-step: Noukhovitch et al. 2024, arXiv 2410.18252; more: AReaL, arXiv 2505.24298; AsyncFlow, arXiv
// 2507.01663): training on
//   some devices, generation and inference on the others, at the best of all splits by the closed form
//   (device_split.h), which is played. Weights may be so many trainings old; how old they are is read off the play
//   (version_lag).
// - Partial rollout: generation by simulate/partial_rollout.h in the plan's own layout, over several iterations; all
// other steps as long
//   as in the play of the plan without inter-stage fusion (there is no tail to fill), put together by
//   plan::time_iterations.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "predict/played/simulation.h"
#include "simulate/threshold.h"
#include "study/device_split.h"
#include "study/staleness.h"

namespace dovetail::study {

/// One way of working.
struct Working {
  enum class Kind {
    fusion,      ///< the plan's devices and layouts, with this fusion
    off_policy,  ///< devices split, weights that generate at most `steps` trainings old
    partial      ///< the plan with generation that ends when `finished` of the prompts under way have all responses
  };
  Kind kind = Kind::fusion;
  bool inter = false;
  bool intra = false;
  bool best_threshold = false;  ///< in place of the plan's own
  int steps = 0;
  double finished = 1;
};

/// What one way comes to.
struct WhatIfFigures {
  plan::Plan plan;
  double iteration_seconds = 0;  ///< the mean of the draws, or of the iterations that are played
  double samples_per_second = 0;
  double tokens_per_second = 0;  ///< of each device of the cluster
  Staleness staleness;
  predict::Fit fit = predict::Fit::does_not_fit;
  bool simulated =
      false;  ///< false: the closed form, because the training phase is longer or larger than schedules can be
  int training_devices = 0;  ///< of a split; 0: none
  int rollout_devices = 0;   ///< likewise
  int training_first = 0;    ///< device of those that train, of a split

  bool fits() const { return fit != predict::Fit::does_not_fit; }
};

struct WhatIf {
  Working working;
  bool planned = false;                  ///< it is what the plan and the job say
  std::optional<WhatIfFigures> figures;  ///< nothing where it does not apply
  std::string why_not = {};              ///< then
};

struct WhatIfOptions {
  predict::SimulationOptions simulation;
  std::vector<int> steps_off_policy = {1, 2, 4};  ///< 0 is added where the job itself is off policy
  std::vector<double> finished = {0.9, 0.7};      ///< of prompts under way, in (0, 1)
  int threads = 1;                                ///< never changes the answer
};

/// All ways, and what was found on the way to them.
struct WhatIfs {
  std::vector<WhatIf> ways;                             ///< fusions, off policy, partial rollout
  std::optional<simulate::ThresholdChoice> thresholds;  ///< where generation can be fused with inference
  std::optional<predict::FusedTraining> training;       ///< where two trainings can be fused
  std::vector<DeviceSplit> splits;                      ///< one step off policy
  bool complete = true;                                 ///< false: stopped before the last way
};

/// The way with this fusion, at the plan's threshold where it has one; nothing where it was not reached.
const WhatIf* find_fusion(const WhatIfs& what_ifs, bool inter, bool intra);
/// The way that fuses generation at this threshold and the trainings or not; nothing where none was played.
const WhatIf* find_threshold(const WhatIfs& what_ifs, double threshold, bool intra);

/// The plan in all ways. A plan that has a threshold keeps it, and is also played at the best of those simulated;
/// another takes the best. Splits are searched with all means. REQUIRES: the plan has no fault; at least one draw;
/// options as said there.
WhatIfs what_ifs(const predict::Scenario& scenario, const plan::Plan& plan, const WhatIfOptions& options);

}  // namespace dovetail::study
