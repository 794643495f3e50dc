// Two timelines over each other: planned and measured, predicted and played, before and after.
#pragma once

#include <string>

#include "report/page/page.h"

namespace dovetail::report {

/// A timeline and what to call it.
struct NamedTimeline {
  std::string name;
  timeline::Timeline timeline;
};

/// One page with both: a chart in which each lane of `a` has its lane of `b` below it, on one time axis; the
/// differences of each activity, of each lane, and the largest of each bar. Rows of devices are divided so that each
/// has devices that do the same in both. Unless both have a fixed beginning, both begin with the first activity that
/// both have: what repeats is turned round, of others the one whose activity is earlier is moved to the right; the
/// chart's note says by how much. Where one is in ticks and the other is not, a tick is shown as a microsecond. Bars
/// that only have names are what bars of the other one are that are called so.
Page overlay_page(NamedTimeline a, NamedTimeline b, std::string title);

}  // namespace dovetail::report
