// Timelines rebuilt from segments of their bars: lanes split, times rotated or delayed. Private to report.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "timeline/timeline.h"

namespace dovetail::report {

/// A bar, part of a bar, or two bars joined into one.
struct BarSegment {
  std::size_t bar = 0;  ///< bar that supplies all properties except the times
  base::Ticks begin;
  base::Ticks end;
  std::optional<std::size_t> second = {};  ///< bar that continues where `bar` ends
};

struct SegmentLane {
  timeline::Lane lane;  ///< `lane.bars` is ignored
  std::vector<BarSegment> segments;
};

/// Whether the bar is idle time.
bool is_idle_bar(const timeline::Timeline& timeline, std::size_t bar);

/// Rebuilds `timeline` with these lanes and without counters. A segment's launch time is at most its length; two joined
/// bars have the larger launch time. References to a bar lead to its first segment.
timeline::Timeline rebuild(const timeline::Timeline& timeline, const std::vector<SegmentLane>& lanes);

/// Returns the end of the repeating part of a timeline. Only the hand-over of the whole iteration may follow it: a last
/// bar of kind hand_over without a task, on every lane of devices. Without such bars, returns the end of the timeline.
base::Ticks cycle_end(const timeline::Timeline& timeline);

/// Rotates a repeating timeline so that it begins at time `begin`. The part before `begin` moves to the end of the
/// repeating part; bars after the repeating part stay last. The two parts of a bar that was cut by the end of the
/// repeating part are joined. A bar that runs at `begin` is cut. Counters are rotated as well.
/// REQUIRES: 0 <= begin < cycle_end.
timeline::Timeline rotated(const timeline::Timeline& timeline, base::Ticks begin);

/// Whether two bars are equal except for their times and their references to other bars.
bool is_same_work(const timeline::Timeline& timeline, std::size_t bar, std::size_t other);

/// Returns the timeline with all times increased by `by`.
timeline::Timeline shifted(timeline::Timeline timeline, base::Ticks by);

/// Splits each lane of devices of `timeline` by the lanes of `other`, so that each lane has the same devices in both
/// timelines or is in only one of them. If all lanes are of devices, they are sorted by their first device. Two
/// timelines that are split by each other have the same lanes of the devices that they share.
timeline::Timeline divide_rows(const timeline::Timeline& timeline, const timeline::Timeline& other);

}  // namespace dovetail::report
