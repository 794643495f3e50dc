// Converts a schedule to a timeline: its ops, and its idle time by cause.
#pragma once

#include <string>

#include "pipeline/schedule/evaluate.h"
#include "timeline/timeline.h"

namespace dovetail::timeline {

/// Returns the timeline of a valid schedule, with a lane per device and a track per pipeline.
///
/// Idle time before the first op of a device is warm-up, and after its last op it is drain. A device without ops has
/// one drain bar. Between two ops, idle time is dependency until the latest predecessor of the next op ends, then
/// transfer until the output of this predecessor arrives, then delay. The latest predecessor is the one whose output
/// arrives last. Bar::awaits refers to it in warm-up, dependency and transfer bars. Waiting for
/// pipeline::Order::barriers is delay.
///
/// The counter of a lane has a step at time 0 and at each change of the activation held. Arrows lead from each op to
/// its successors on other devices. Ops of length 0 have bars of length 0.
Timeline schedule_timeline(const pipeline::Problem& problem, const pipeline::LoweredSchedule& schedule,
                           std::string title);

}  // namespace dovetail::timeline
