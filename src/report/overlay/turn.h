// A timeline that begins elsewhere. Private to report.
#pragma once

#include "timeline/timeline.h"

namespace dovetail::report {

/// Where the stretch of a timeline that repeats ends: behind it, what an iteration adds on all devices is the last bar
/// of every row of devices (timeline::BarKind::hand_over of no task). The end of the timeline where there is no such
/// bar.
base::Ticks stretch_end(const timeline::Timeline& timeline);

/// A timeline that repeats, from its time `begin` on: what is before stands at the end of the stretch that repeats,
/// what is behind that stretch stays last. Bars that the end of the stretch cuts are one, those that run at `begin` are
/// cut. Counters likewise. REQUIRES: 0 <= begin < stretch_end.
timeline::Timeline turned(const timeline::Timeline& timeline, base::Ticks begin);

/// Whether the bars are the same in all but times.
bool is_same_work(const timeline::Timeline& timeline, std::size_t bar, std::size_t other);

/// The timeline, everything `by` later.
timeline::Timeline delayed(timeline::Timeline timeline, base::Ticks by);

}  // namespace dovetail::report
