// A generate task as its devices live through it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plan/task_plan.h"
#include "predict/closed_form/scenario.h"
#include "simulate/generation.h"

namespace dovetail::predict {

/// The lengths that a simulation takes: number `draw` of a seed.
struct Draw {
  std::uint64_t seed = 1;
  std::uint64_t number = 0;
};

/// The generate task as simulate::simulate_generation takes it, with the room for keys and values that
/// predict::key_value_room leaves, at most the device's memory. `scenario` must outlive it.
simulate::GenerationTask generation_task(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned);

/// All its samples, drawn from the job's lengths and played by its engines.
simulate::Generation generation_of(const Scenario& scenario, std::size_t task, const plan::TaskPlan& planned,
                                   const Draw& draw);

}  // namespace dovetail::predict
