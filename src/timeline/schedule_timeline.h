// A schedule as a timeline: its ops, and its idle time with what causes it.
#pragma once

#include <array>
#include <string>

#include "pipeline/evaluate.h"
#include "timeline/timeline.h"

namespace dovetail::timeline {

/// The timeline of a valid schedule: a lane a device, a track a pipeline. Idle time before a device's first op is warm-up, after its
/// last one drain (a device without ops is one drain bar); between two ops it is split at the moments when the next op's latest
/// predecessor ended (dependency before) and its output arrived (transfer before); what is left is delay, barriers of the order
/// included. The latest predecessor is the one whose output arrives last; warm-up, dependency and transfer bars await it.
/// Lane::memory starts with a step at time 0 and has one wherever the activation held changes. Arrows lead from each op to the ops
/// on other devices that need it. Ops of length 0 have bars of length 0.
Timeline schedule_timeline(const pipeline::Problem& problem, const pipeline::LoweredSchedule& schedule, std::string title);

/// Time of one lane, or of all, by kind of bar: indexed by BarKind. A lane's sum is the timeline's end.
/// REQUIRES, of all lanes together: lanes x end fits 63 bits.
using TimeByKind = std::array<base::Ticks, bar_kinds>;
TimeByKind time_by_kind(const Lane& lane);
TimeByKind time_by_kind(const Timeline& timeline);

}  // namespace dovetail::timeline
