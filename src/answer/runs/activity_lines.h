// The activities of a simulated iteration, beside what their closed forms say.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "predict/played/simulation.h"

namespace dovetail::answer {

/// An activity, or several that run as one. Times are seconds.
struct ActivityLine {
  std::size_t activity = 0;  ///< of Estimate::graph
  std::string name;          ///< "actor_train + critic_train", "weights to actor_generate"
  std::string devices;       ///< "0-255"; empty where it has none
  double begin = 0;          ///< from the beginning of the iteration's first activity
  double simulated = 0;
  double closed = 0;  ///< by the closed form
};

/// In the order of the iteration's graph; what is within another activity is named with that. `plan` is the one that
/// was simulated.
std::vector<ActivityLine> activity_lines(const predict::Scenario& scenario, const plan::Plan& plan,
                                         const predict::Simulation& simulation);

}  // namespace dovetail::answer
