// What devices did in generation and inference, as one trace.
#pragma once

#include "simulate/stages.h"
#include "simulate/trace.h"

namespace dovetail::simulate {

/// A lane for the devices that an instance and a worker have in common. Idling is the tail until generation has ended
/// everywhere; then imbalance behind a worker's last sample, and on devices that are no worker's; a dependency where a
/// worker waits for other devices or for another task's answers.
Trace trace_of(const InterStageTask& task, const Fleet& fleet, const PlayedStages& played);

}  // namespace dovetail::simulate
