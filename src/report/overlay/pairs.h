// Which rows and bars of two timelines are the same. Private to report.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "report/overlay/activities.h"
#include "timeline/timeline.h"

namespace dovetail::report {

/// A bar of the first timeline and the same one of the second: numbers of bars.
struct BarPair {
  std::size_t a = 0;
  std::size_t b = 0;
};

/// A lane of the first timeline and the lane of the second that goes with it.
struct LanePair {
  std::size_t a = 0;
  std::size_t b = 0;
};

/// Which lanes go together: those of one name; where no name is in both and there are as many of each, those at the
/// same place.
std::vector<LanePair> pair_lanes(const timeline::Timeline& a, const timeline::Timeline& b);

/// Which bars of paired lanes are the same: the k-th of a title with the k-th of that title, idle time left out. Of a
/// timeline that repeats they are counted from the beginning of their activity, and a bar that the end of the stretch
/// cuts has no partner that is whole. In order of the first timeline's bars. `activities` are theirs.
std::vector<BarPair> pair_bars(const timeline::Timeline& a, const timeline::Timeline& b,
                               const std::array<TimelineActivities, 2>& activities, const std::vector<LanePair>& lanes);

}  // namespace dovetail::report
