// What `dovetail simulate` says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "answer/question/json.h"
#include "cli/output.h"
#include "predict/closed_form/estimate.h"
#include "predict/played/simulation.h"
#include "study/fusion_variants.h"

namespace dovetail::cli {

/// A plan, as predicted and as played.
struct SimulatedPlan {
  const predict::Scenario& scenario;
  const plan::Plan& plan;
  bool found = false;  ///< by a search, not read
  std::uint64_t seed = 1;
  std::optional<double> bound;  ///< as ChosenPlan's
  predict::Simulation simulation;
  std::vector<study::FusionVariant> variants;  ///< the least fused first; empty where nothing is fused
  std::vector<std::string> notes;              ///< why something that was asked for is not fused
};

std::string to_text(const SimulatedPlan& simulated);
/// dovetail/simulation@1, with `timeline` what every device does, span by span.
answer::Json to_json(const SimulatedPlan& simulated, bool timeline);

}  // namespace dovetail::cli
