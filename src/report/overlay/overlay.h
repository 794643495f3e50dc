// Comparison of two timelines: planned and measured, predicted and simulated, before and after.
#pragma once

#include <string>

#include "report/page/page.h"

namespace dovetail::report {

struct NamedTimeline {
  std::string name;
  timeline::Timeline timeline;
};

/// Builds a page that compares two timelines: one chart with each lane of `b` below its lane of `a`, and tables of the
/// differences by bar, activity and lane.
/// Rows are split so that each covers the same devices in both timelines. Unless both have a fixed beginning, both are
/// aligned at the first activity they share: a repeating timeline is rotated, any other is delayed, and the chart's
/// note says by how much. If only one timeline is in ticks, a tick is shown as a microsecond. Bars known only by name
/// get the kind of equally named bars of the other timeline.
Page overlay_page(NamedTimeline a, NamedTimeline b, std::string title);

}  // namespace dovetail::report
