// The chart of an overlay. Private to report.
#pragma once

#include <cstdint>
#include <vector>

#include "report/overlay/pairs.h"
#include "report/page/page.h"

namespace dovetail::report {

struct OverlayChart {
  Chart chart;
  std::vector<std::int32_t> number_of_a;  ///< [bar of a] its number in `chart`
};

/// Both charts in one: each lane of `a` with its lane of `b` joined below it, then the lanes that `b` alone has. Categories of one name
/// that are idle in both or in neither are one, and so are fields of one name and kind. REQUIRES: times of both are in one unit.
OverlayChart overlay_chart(const Chart& a, const Chart& b, const std::vector<LanePair>& lanes, const std::vector<BarPair>& bars);

}  // namespace dovetail::report
