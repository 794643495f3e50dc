// Activities of a timeline, and the alignment of two timelines by a common activity. Private to report.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/timeline.h"

namespace dovetail::report {

/// Work that begins and ends as a unit across all lanes.
struct TimelineActivity {
  std::string name;  ///< name of the activity (see activity_name)
  /// Start of the first bar. In a repeating timeline, an activity may wrap around the end of the repeating part. Its
  /// longest pause is then assumed to lie between its end and its start; nullopt if it never pauses.
  std::optional<base::Ticks> begin;
  base::Ticks length;
};

struct TimelineActivities {
  std::vector<TimelineActivity> activities;  ///< in order of the timeline's categories
  /// [bar] index of its activity; -1 for idle time, links to host memory, and bars after the repeating part
  std::vector<std::int32_t> of;
  std::optional<base::Ticks> cycle;                        ///< end of the repeating part (cycle_end); nullopt if the
                                                           ///< timeline does not repeat
  std::map<std::string, std::size_t, std::less<>> number;  ///< [name] index of the activity
};

/// Returns the activity in a bar title: "actor_train" for "forward of actor_train". Other titles, such as "reallocation
/// for actor_generate", are activities themselves and are returned unchanged.
std::string_view activity_name(std::string_view title);

TimelineActivities activities_of(const timeline::Timeline& timeline);

/// Returns the start of a work bar relative to the cycle in which its activity starts. `begin` is the bar's own start.
/// If the activity wraps around the end of the repeating part, a bar before the activity's start belongs to the next
/// cycle, so its start is `begin` plus the length of the cycle. For all other bars, returns `begin`.
base::Ticks begin_of(const TimelineActivities& activities, std::size_t bar, base::Ticks begin);

/// Returns the activity of that name, or null.
const TimelineActivity* find_activity(const TimelineActivities& activities, std::string_view name);

/// Shifts that make timelines A and B comparable.
struct Alignment {
  std::array<base::Ticks, 2> rotations;  ///< time in the repeating part at which each timeline begins
  std::array<base::Ticks, 2> delayed;    ///< delay added after the rotation
  std::string activity;                  ///< activity with which both begin; empty if both keep their times
};

/// Aligns both timelines at an activity that they share. Does nothing if both have a fixed beginning, or if they share
/// no activity. If both already begin with a shared activity, uses that one. Otherwise, if both timelines repeat, uses
/// the shared activity that is first in activities[0]; if not, the one that starts first in the timeline that does not
/// repeat, or in `a` if neither does. Repeating timelines are rotated. Then the timeline whose activity is earlier is
/// delayed. `activities` belong to `a` and `b`.
Alignment align(const timeline::Timeline& a, const timeline::Timeline& b,
                const std::array<TimelineActivities, 2>& activities);

/// Describes the alignment in sentences for the chart's note, each with a leading space: how the timelines were
/// shifted, or that they share no activity. Empty if they needed no shift, or if both have a fixed beginning.
std::string alignment_note(const Alignment& alignment, const timeline::Timeline& a, const timeline::Timeline& b);

}  // namespace dovetail::report
