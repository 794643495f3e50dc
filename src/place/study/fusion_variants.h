// A plan with less stage fusion than it has, played: what each fusion gains, and which idle time it takes away.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "place/simulation/simulation.h"
#include "simulate/accounting.h"

namespace dovetail::place {

struct FusionVariant {
  std::string name;                 ///< "none", "intra" (two trainings), "inter" (generation with inference), "both"
  double seconds = 0;               ///< of an iteration: Simulation::iteration_seconds
  std::vector<simulate::Use> uses;  ///< of all devices, in one iteration
  bool played = false;              ///< it is the plan itself
  bool fits = true;                 ///< Estimate::fits
};

/// The plan without any fusion, with each by itself where it has both, and as it is, which `simulation` is of; nothing where it fuses
/// nothing. Errors as Simulator.
base::Result<std::vector<FusionVariant>> play_fusion_variants(Simulator& simulator, const plan::Plan& plan, const Simulation& simulation);

}  // namespace dovetail::place
