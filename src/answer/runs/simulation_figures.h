// What the sections and the JSON of a simulation both work out. Private to it.
#pragma once

#include <cstdint>
#include <string>

#include "answer/runs/simulation.h"

namespace dovetail::answer {

/// Empty where there is none (below 0).
std::string task_name(const SimulationAnswer& answer, std::int32_t task);
/// Bytes that a process can allocate on each of the devices.
std::int64_t usable_memory(const SimulationAnswer& answer, const simulate::Lane& lane);
/// Seconds of the average device.
double mean_seconds(const SimulationAnswer& answer, base::Ticks of_all);

}  // namespace dovetail::answer
