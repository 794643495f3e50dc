// Two timelines as one. Private to report.
#pragma once

#include <cstdint>
#include <vector>

#include "report/overlay/pairs.h"
#include "timeline/timeline.h"

namespace dovetail::report {

struct JoinedTimelines {
  timeline::Timeline timeline;
  std::vector<std::int32_t> number_of_a;  ///< [bar of a] its number in `timeline`
};

/// Each lane of `a` with its lane of `b` joined below it, then the lanes that `b` alone has. Tracks, names and
/// categories that are called alike are one. Counters are drawn of both where they have one unit. REQUIRES: times of
/// both are in one unit.
JoinedTimelines join_timelines(const timeline::Timeline& a, const timeline::Timeline& b,
                               const std::vector<LanePair>& lanes, const std::vector<BarPair>& bars);

}  // namespace dovetail::report
