// Figures that the sections and the JSON of a simulation share.
#pragma once

#include <cstdint>
#include <string>

#include "answer/runs/simulation.h"

namespace dovetail::answer {

/// Name of the task; empty if `task` is negative.
std::string task_name(const SimulationAnswer& answer, std::int32_t task);
/// Bytes that a process can allocate on each of the lane's devices.
std::int64_t usable_memory(const SimulationAnswer& answer, const simulate::Lane& lane);
/// Seconds per device.
double mean_seconds(const SimulationAnswer& answer, base::Ticks of_all);

}  // namespace dovetail::answer
