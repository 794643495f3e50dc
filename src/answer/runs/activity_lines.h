// Activities of a simulated iteration, with their analytical predictions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "predict/played/simulation.h"

namespace dovetail::answer {

/// One activity, or several that run as one. Times are in seconds.
struct ActivityLine {
  std::size_t activity = 0;  ///< index in Estimate::graph
  std::string name;          ///< "actor_train + critic_train", "weights to actor_generate"
  std::string devices;       ///< "0-255"; empty if it uses none
  double begin = 0;          ///< since the start of the first activity
  double simulated = 0;
  double closed = 0;  ///< predicted by the analytical model
};

/// Returns the activities in the order of the iteration's graph. An activity within another one is named together with
/// it. `plan` is the plan that was simulated.
std::vector<ActivityLine> activity_lines(const predict::Scenario& scenario, const plan::Plan& plan,
                                         const predict::Simulation& simulation);

}  // namespace dovetail::answer
