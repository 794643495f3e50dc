// Matching lanes and bars of two timelines, and the joined timeline. Private to report.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "report/overlay/activities.h"
#include "timeline/timeline.h"

namespace dovetail::report {

/// Indices of matching bars.
struct BarPair {
  std::size_t a = 0;
  std::size_t b = 0;
};

/// Indices of matching lanes.
struct LanePair {
  std::size_t a = 0;
  std::size_t b = 0;
};

/// Matches lanes by name. If the timelines share no name and have the same number of lanes, matches lanes by position.
std::vector<LanePair> pair_lanes(const timeline::Timeline& a, const timeline::Timeline& b);

/// Matches the work bars of matched lanes: the k-th bar with a title in one timeline and the k-th bar with that title
/// in the other. In a timeline that repeats, bars are counted from the start of their activity, and a bar cut by the
/// end of the repeating part matches no whole bar. Pairs are in order of the bars of `a`. `activities` belong to `a`
/// and `b`.
std::vector<BarPair> pair_bars(const timeline::Timeline& a, const timeline::Timeline& b,
                               const std::array<TimelineActivities, 2>& activities, const std::vector<LanePair>& lanes);

struct JoinedTimelines {
  timeline::Timeline timeline;
  std::vector<std::int32_t> number_of_a;  ///< [bar of a] index of that bar in `timeline`
};

/// Joins two timelines. Each lane of `a` is followed by the lane of `b` that `lanes` matches with it, if any. Unmatched
/// lanes of `b` come last. Tracks of the same kind and name, equal bar names, and equal categories are merged. A
/// counter is kept if it has the unit of the first one. REQUIRES: the times of both timelines are in the same unit.
JoinedTimelines join_timelines(const timeline::Timeline& a, const timeline::Timeline& b,
                               const std::vector<LanePair>& lanes, const std::vector<BarPair>& bars);

}  // namespace dovetail::report
