// A schedule as a timeline: its ops, and its idle time with what causes it.
#pragma once

#include <string>

#include "pipeline/schedule/evaluate.h"
#include "timeline/timeline.h"

namespace dovetail::timeline {

/// The timeline of a valid schedule: a lane a device, a track a pipeline. Idle time before a device's first op is
/// warm-up, after its last one drain (a device without ops is one drain bar); between two ops it is split at the
/// moments when the next op's latest predecessor ended (dependency before) and its output arrived (transfer before);
/// what is left is delay, barriers of the order included. The latest predecessor is the one whose output arrives last;
/// warm-up, dependency and transfer bars await it. The counter of a lane starts with a step at time 0 and has one
/// wherever the activation held changes. Arrows lead from each op to the ops on other devices that need it. Ops of
/// length 0 have bars of length 0.
Timeline schedule_timeline(const pipeline::Problem& problem, const pipeline::LoweredSchedule& schedule,
                           std::string title);

}  // namespace dovetail::timeline
