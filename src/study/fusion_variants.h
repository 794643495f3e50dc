// Simulates a plan with less stage fusion, to show what each fusion gains and which idle time it removes.
#pragma once

#include <array>
#include <vector>

#include "base/enum_names.h"
#include "base/result.h"
#include "predict/closed_form/memory.h"
#include "predict/simulated/simulation.h"
#include "simulate/trace.h"

namespace dovetail::study {

/// Kinds of stage fusion in a plan.
enum class FusionMode {
  none,
  intra,  ///< two trainings
  inter,  ///< generation with inference
  both
};
constexpr auto names_of(FusionMode) {
  return std::array{base::EnumName{"none", FusionMode::none}, base::EnumName{"intra", FusionMode::intra},
                    base::EnumName{"inter", FusionMode::inter}, base::EnumName{"both", FusionMode::both}};
}
FusionMode mode_of(const plan::Fusion& fusion);

inline bool fuses_training(FusionMode mode) { return mode == FusionMode::intra || mode == FusionMode::both; }
inline bool fuses_generation(FusionMode mode) { return mode == FusionMode::inter || mode == FusionMode::both; }

struct FusionVariant {
  FusionMode mode = FusionMode::none;
  double seconds = 0;               ///< time of an iteration: Simulation::iteration_seconds
  std::vector<simulate::Use> uses;  ///< device time of one iteration by use, summed over all devices
  bool is_simulated_plan = false;   ///< whether this is the plan itself
  predict::Fit fit = predict::Fit::fits;
  bool fits() const { return fit != predict::Fit::does_not_fit; }
};

/// Simulates the plan without fusion and, if it has both fusions, with each one alone. The last variant is the plan
/// itself, taken from `simulation`. Returns an empty vector if the plan fuses nothing. Returns the Errors of
/// `simulator`.
base::Result<std::vector<FusionVariant>> simulate_fusion_variants(predict::Simulator& simulator, const plan::Plan& plan,
                                                                  const predict::Simulation& simulation);

}  // namespace dovetail::study
