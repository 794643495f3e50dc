// Where two timelines begin so that they can be compared. Private to report.
#pragma once

#include <array>
#include <string>

#include "report/overlay/activities.h"
#include "report/overlay/overlay.h"

namespace dovetail::report {

/// What is done to A and B.
struct Alignment {
  std::array<base::Ticks, 2> turned;   ///< each begins there: as `turned` has it
  std::array<base::Ticks, 2> delayed;  ///< and then later by this
  std::string activity;                ///< with which both begin; empty where they keep their times
};

/// Both begin with the first activity that both have: the one with which they do begin; else of timelines that repeat
/// the first of the workflow, of others the first that runs. What repeats is turned; unless both have a fixed
/// beginning, the one whose activity is earlier then is delayed. `activities` are theirs.
Alignment align(const timeline::Timeline& a, const timeline::Timeline& b,
                const std::array<TimelineActivities, 2>& activities);

/// What was done, as sentences for the chart's note, each with a space before it; empty where nothing was.
std::string alignment_note(const Alignment& alignment, const timeline::Timeline& a, const timeline::Timeline& b);

}  // namespace dovetail::report
