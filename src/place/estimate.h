// The prediction of a plan: how long an iteration takes, where the time goes, and whether it fits.
#pragma once

#include <optional>
#include <vector>

#include "place/memory.h"
#include "place/step_seconds.h"
#include "plan/iteration_graph.h"
#include "plan/timing.h"

namespace dovetail::place {

struct Estimate {
  plan::IterationGraph graph;
  std::vector<StepSeconds> steps;  ///< [step of graph]
  plan::Timing timing;
  std::vector<TaskMemory> memory;  ///< [task]

  double iteration_seconds = 0;  ///< the period of the steps, and what an iteration has beside them
  double samples_per_second = 0;
  double tokens_per_second = 0;  ///< of each device of the cluster: prompts and responses of all samples
  double gpu_hours = 0;          ///< of an iteration, all devices of the cluster
  std::optional<double> price;   ///< of an iteration, where the cluster has a price

  bool fits() const;
};

/// The one evaluator of plans: whatever prints a plan's time or memory has it from here. REQUIRES: the plan has no fault.
Estimate estimate(const Ground& ground, const plan::Plan& plan);

}  // namespace dovetail::place
