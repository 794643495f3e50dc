// Comparison of two timelines: planned and measured, predicted and simulated, before and after. Programs call
// overlay_page; the rest is private to report.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "report/overlay/activities.h"
#include "report/overlay/pairs.h"
#include "report/page/page.h"

namespace dovetail::report {

struct NamedTimeline {
  std::string name;
  timeline::Timeline timeline;
};

/// Builds a page that compares two timelines: one chart with each lane of `b` below its lane of `a`, and tables of the
/// differences by bar, activity and lane. Lanes are split so that each covers the same devices in both timelines.
/// Unless both timelines have a fixed beginning, they are aligned at an activity that they share (see align). The
/// chart's note says how. If only one timeline is in ticks, a tick is shown as a microsecond. Bars known only by name
/// get the kind of equally named bars of the other timeline.
Page overlay_page(NamedTimeline a, NamedTimeline b, std::string title);

/// Two timelines with their matched lanes and bars.
struct Overlay {
  const NamedTimeline& a;
  const NamedTimeline& b;
  std::array<TimelineActivities, 2> activities;  ///< before a delay is applied
  std::array<base::Ticks, 2> delayed{};          ///< see Alignment
  std::vector<LanePair> lanes;
  std::vector<BarPair> bars;
};

/// Returns by how much the bar of `b` begins later than the bar of `a` (see begin_of); negative if it begins earlier.
base::Ticks begin_change(const Overlay& overlay, const BarPair& pair);

/// Returns the larger of the absolute differences in start and in length.
base::Ticks distance(const Overlay& overlay, const BarPair& pair);

/// Lists up to 50 activities of either timeline, with their start and duration in both. Empty if the timelines share no
/// activity, or if bar titles do not name activities.
Table activity_differences(const Overlay& overlay);

/// Lists up to 50 matched bars that differ, largest difference first. `number_of_a` maps a bar of A to its index in the
/// chart.
Table bar_differences(const Overlay& overlay, const std::vector<std::int32_t>& number_of_a);

/// Lists busy time, last end and bar counts of the matched lanes.
Table lane_differences(const Overlay& overlay);

}  // namespace dovetail::report
