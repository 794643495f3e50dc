// How two timelines differ. Private to report.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "report/overlay/activities.h"
#include "report/overlay/overlay.h"
#include "report/overlay/pairs.h"
#include "report/page/page.h"

namespace dovetail::report {

/// Two timelines as they are laid over each other.
struct Overlay {
  const NamedTimeline& a;
  const NamedTimeline& b;
  std::array<TimelineActivities, 2> activities;  ///< before they were delayed
  std::array<base::Ticks, 2> delayed{};          ///< as Alignment has it
  std::vector<LanePair> lanes;
  std::vector<BarPair> bars;
};

/// How much later the bar of B begins, each as begin_of has it.
base::Ticks begin_change(const Overlay& overlay, const BarPair& pair);

/// How far apart the two bars are: the larger of the changes of start and of length.
base::Ticks distance(const Overlay& overlay, const BarPair& pair);

/// When each activity begins and how long it takes, in both. No rows where no activity is in both, or titles of bars do
/// not say of which activity they are.
Table activity_differences(const Overlay& overlay);

/// The bars that are in both and differ, the largest difference first. `number_of_a`: [bar of a] its number in the
/// chart.
Table bar_differences(const Overlay& overlay, const std::vector<std::int32_t>& number_of_a);

/// Work, last ends and numbers of bars of rows that are in both.
Table lane_differences(const Overlay& overlay);

}  // namespace dovetail::report
