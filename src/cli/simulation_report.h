// What `dovetail simulate` says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/output.h"
#include "place/predict/estimate.h"
#include "place/simulation/simulation.h"

namespace dovetail::cli {

/// The plan with other fusion: what that gains.
struct FusionVariant {
  std::string name;  ///< "none", "intra", "inter", "both"
  double seconds = 0;
  bool played = false;  ///< it is the plan that all else is about
};

/// A plan, as predicted and as played.
struct SimulatedPlan {
  const place::Ground& ground;
  const plan::Plan& plan;
  std::uint64_t seed = 1;
  std::optional<double> bound;  ///< seconds that no plan's iteration can beat
  place::Simulation simulation;
  std::vector<FusionVariant> variants;  ///< the least fused first; empty where nothing is fused
  std::vector<std::string> notes;       ///< why something that was asked for is not fused
};

std::string to_text(const SimulatedPlan& simulated);
/// dovetail/simulation@1, with `timeline` what every device does, span by span.
Json to_json(const SimulatedPlan& simulated, bool timeline);

}  // namespace dovetail::cli
