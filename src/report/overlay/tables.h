// Tables of the differences between two timelines. Private to report.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "report/overlay/activities.h"
#include "report/overlay/overlay.h"
#include "report/overlay/pairs.h"
#include "report/page/page.h"

namespace dovetail::report {

/// Two timelines with their matched lanes and bars.
struct Overlay {
  const NamedTimeline& a;
  const NamedTimeline& b;
  std::array<TimelineActivities, 2> activities;  ///< before the delay
  std::array<base::Ticks, 2> delayed{};          ///< see Alignment
  std::vector<LanePair> lanes;
  std::vector<BarPair> bars;
};

/// Returns how much later B's bar begins (see begin_of).
base::Ticks begin_change(const Overlay& overlay, const BarPair& pair);

/// Returns the larger of the changes in start and in length.
base::Ticks distance(const Overlay& overlay, const BarPair& pair);

/// Lists the start and duration of each activity in both timelines. Empty if they share no activity, or if bar titles
/// do not name activities.
Table activity_differences(const Overlay& overlay);

/// Lists the matched bars that differ, largest difference first. `number_of_a` maps a bar of A to its index in the
/// chart.
Table bar_differences(const Overlay& overlay, const std::vector<std::int32_t>& number_of_a);

/// Lists busy time, last end and bar counts of the matched rows.
Table lane_differences(const Overlay& overlay);

}  // namespace dovetail::report
