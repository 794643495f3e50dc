// Two timelines over each other: planned and measured, predicted and played, before and after.
#pragma once

#include <cstdint>
#include <string>

#include "report/page/page.h"
#include "timeline/chrome_trace_file.h"

namespace dovetail::report {

/// What the time 0 of a timeline is.
enum class Beginning : std::uint8_t {
  fixed,    ///< when all begins: a schedule
  repeats,  ///< anywhere in what repeats: an iteration of a plan, whose end joins its beginning
  unknown,  ///< when somebody began to measure, or to play
};

/// A timeline and what to call it.
struct NamedChart {
  std::string name;
  Chart chart;
  Beginning beginning = Beginning::fixed;
  bool guessed = false;  ///< its categories are made from names of slices
};

/// A trace for an overlay. A schedule's that Dovetail wrote has a fixed beginning, a plan's repeats if its iterations did; the times of
/// both are shown in the unit in which they were written.
NamedChart named_trace(const timeline::ChromeTrace& trace, std::string name);

/// One page with both: a chart in which each lane of `a` has its lane of `b` below it, on one time axis; the differences of each step, of
/// each lane, and the largest of each bar. Rows of devices are divided so that each has devices that do the same in both. Unless both have
/// a fixed beginning, both begin with the first step that both have: what repeats is turned round, of others the one whose step is earlier
/// is moved to the right; the chart's note says by how much. Where one is in ticks and the other is not, a tick is shown as a microsecond.
Page overlay_page(NamedChart a, NamedChart b, std::string title);

}  // namespace dovetail::report
