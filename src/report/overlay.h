// Two timelines over each other: planned and measured, predicted and played, before and after.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/page.h"

namespace dovetail::report {

/// A timeline and what to call it.
struct NamedChart {
  std::string name;
  Chart chart;
};

/// A bar of the first chart and the same one of the second: numbers of bars.
struct BarPair {
  std::size_t a = 0;
  std::size_t b = 0;
};

/// A lane of the first chart and the lane of the second that goes with it.
struct LanePair {
  std::size_t a = 0;
  std::size_t b = 0;
};

/// Which lanes go together: those of one name; where no name is in both and there are as many of each, those at the same place.
std::vector<LanePair> pair_lanes(const Chart& a, const Chart& b);

/// Which bars of paired lanes are the same: the k-th of a title with the k-th of that title, idle time left out. In order of the first
/// chart's bars.
std::vector<BarPair> pair_bars(const Chart& a, const Chart& b, const std::vector<LanePair>& lanes);

/// One page with both: a chart in which each lane of `a` has its lane of `b` below it, on one time axis; the differences of each lane and
/// the largest of each bar. Where one is in ticks and the other is not, a tick is shown as a microsecond.
Page overlay_page(NamedChart a, NamedChart b, std::string title);

}  // namespace dovetail::report
