#include "study/fusion_variants.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace dovetail::study {
namespace {

FusionVariant variant_of(const plan::Fusion& fusion, const predict::Simulation& simulation, bool simulated) {
  std::vector<simulate::Use> uses = simulate::uses_of(simulation.iteration.trace);
  for (simulate::Use& use : uses)
    use.time = base::Ticks(use.time.count() / static_cast<std::int64_t>(simulation.iteration.iterations));
  return {mode_of(fusion), simulation.iteration_seconds, std::move(uses), simulated, simulation.closed.fit()};
}

}  // namespace

FusionMode mode_of(const plan::Fusion& fusion) {
  if (!fusion.any()) return FusionMode::none;
  if (fusion.threshold && fusion.training) return FusionMode::both;
  return fusion.training ? FusionMode::intra : FusionMode::inter;
}

base::Result<std::vector<FusionVariant>> simulate_fusion_variants(predict::Simulator& simulator, const plan::Plan& plan,
                                                                  const predict::Simulation& simulation) {
  std::vector<FusionVariant> variants;
  if (!plan.fusion.any()) return variants;
  std::vector<plan::Fusion> others{{}};
  if (plan.fusion.threshold && plan.fusion.training) {
    others.push_back({std::nullopt, plan.fusion.training});
    others.push_back({plan.fusion.threshold, std::nullopt});
  }
  for (const plan::Fusion& fusion : others) {
    plan::Plan other = plan;
    other.fusion = fusion;
    DOVETAIL_TRY(const predict::Simulation simulated, simulator.simulate(other));
    variants.push_back(variant_of(fusion, simulated, false));
  }
  variants.push_back(variant_of(plan.fusion, simulation, true));
  return variants;
}

}  // namespace dovetail::study
