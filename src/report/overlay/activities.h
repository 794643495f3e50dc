// The activities of which the bars of a timeline are work, and when they run. Private to report.
#pragma once

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

/// What begins and ends as one on all rows.
struct TimelineActivity {
  std::string name;  ///< as activity_name has it
  /// From the first of its bars to the end of the last. Of a timeline that repeats its longest pause parts its end from
  /// its beginning, and it may go on behind the end of the stretch; nothing where it never pauses.
  std::optional<base::Ticks> begin;
  base::Ticks length;
};

struct TimelineActivities {
  std::vector<TimelineActivity> activities;  ///< in the order of their categories
  /// [bar] its activity; -1: idle time, links to host memory, and what is behind the stretch that repeats
  std::vector<std::int32_t> of;
  std::optional<base::Ticks> stretch;                      ///< of a timeline that repeats: stretch_end
  std::map<std::string, std::size_t, std::less<>> number;  ///< [name] of the activity
};

/// Whose work bars of this title are: "actor_train" of "forward of actor_train"; the title itself where it says nothing
/// of the kind, as "reallocation for actor_generate".
std::string_view activity_name(std::string_view title);

TimelineActivities activities_of(const timeline::Timeline& timeline);

/// When a bar of work begins that stands at `begin`: of an activity that goes on behind the end of the stretch, what
/// stands before its beginning counts as behind that end.
base::Ticks begin_of(const TimelineActivities& activities, std::size_t bar, base::Ticks begin);

/// The activity of that name; null where there is none.
const TimelineActivity* find_activity(const TimelineActivities& activities, std::string_view name);

}  // namespace dovetail::report
