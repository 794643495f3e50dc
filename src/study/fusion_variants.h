// A plan with less stage fusion than it has, played: what each fusion gains, and which idle time it takes away.
#pragma once

#include <array>
#include <vector>

#include "base/enum_names.h"
#include "base/result.h"
#include "predict/closed_form/memory.h"
#include "predict/played/simulation.h"
#include "simulate/trace.h"

namespace dovetail::study {

/// Which stages a plan fuses.
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
  double seconds = 0;               ///< of an iteration: Simulation::iteration_seconds
  std::vector<simulate::Use> uses;  ///< of all devices, in one iteration
  bool played = false;              ///< it is the plan itself
  predict::Fit fit = predict::Fit::fits;
  bool fits() const { return fit != predict::Fit::does_not_fit; }
};

/// The plan without any fusion, with each by itself where it has both, and as it is, which `simulation` is of; nothing
/// where it fuses nothing. Errors as Simulator.
base::Result<std::vector<FusionVariant>> play_fusion_variants(predict::Simulator& simulator, const plan::Plan& plan,
                                                              const predict::Simulation& simulation);

}  // namespace dovetail::study
