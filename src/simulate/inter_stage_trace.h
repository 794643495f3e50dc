// What devices did in generation and inference, as one trace.
#pragma once

#include <cstdint>

#include "base/quantity.h"
#include "simulate/stages.h"
#include "simulate/trace.h"

namespace dovetail::simulate {

/// A lane for the devices that an instance and a worker have in common. Idling is the tail until generation has ended everywhere; then
/// imbalance behind a worker's last sample, and on devices that are no worker's; a dependency where a worker waits for other devices or for
/// another task's answers. `task`: the generate task.
Trace trace_of(std::int32_t task, base::Ticks drop, const Fleet& fleet, const PlayedStages& played);

}  // namespace dovetail::simulate
