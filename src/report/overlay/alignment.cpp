#include "report/overlay/alignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "report/overlay/words.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using timeline::Beginning;
using timeline::Timeline;

/// The activity with which both can begin; null where there is none. An activity with which both do begin; else the
/// first that runs in `activities` where that is asked for, the first of `activities` where not.
const TimelineActivity* first_common(const TimelineActivities& activities, const TimelineActivities& other,
                                     bool in_time) {
  const TimelineActivity* first = nullptr;
  for (const TimelineActivity& activity : activities.activities) {
    if (!activity.begin) continue;
    const TimelineActivity* same = find_activity(other, activity.name);
    if (!same || !same->begin) continue;
    if (*activity.begin == Ticks() && *same->begin == Ticks()) return &activity;
    if (!first || (in_time && *activity.begin < *first->begin)) first = &activity;
  }
  return first;
}

}  // namespace

Alignment align(const Timeline& a, const Timeline& b, const std::array<TimelineActivities, 2>& activities) {
  Alignment alignment;
  const std::array<const Timeline*, 2> timelines{&a, &b};
  if (a.beginning == Beginning::fixed && b.beginning == Beginning::fixed) return alignment;
  const bool both_repeat = a.beginning == Beginning::repeats && b.beginning == Beginning::repeats;
  const std::size_t leading = a.beginning == Beginning::repeats && !both_repeat ? 1 : 0;
  const TimelineActivity* activity = first_common(activities[leading], activities[1 - leading], !both_repeat);
  if (!activity) return alignment;
  alignment.activity = activity->name;
  std::array<Ticks, 2> begin;
  for (std::size_t side = 0; side < 2; ++side) {
    begin[side] = *find_activity(activities[side], activity->name)->begin;
    if (timelines[side]->beginning != Beginning::repeats) continue;
    alignment.turned[side] = begin[side];
    begin[side] = Ticks();
  }
  for (std::size_t side = 0; side < 2; ++side)
    alignment.delayed[side] = std::max(Ticks(), begin[1 - side] - begin[side]);
  return alignment;
}

std::string alignment_note(const Alignment& alignment, const Timeline& a, const Timeline& b) {
  if (a.beginning == Beginning::fixed && b.beginning == Beginning::fixed) return "";
  if (alignment.activity.empty()) return " No step is in both that they could begin with: each has its own times.";
  const base::TimeUnit unit = a.time_unit;
  std::string note;
  for (std::size_t side = 0; side < 2; ++side) {
    const char letter = side == 0 ? 'A' : 'B';
    if (alignment.turned[side] > Ticks())
      note += fmt::format(" {} is turned by {}: its iterations repeat, and what came before {} stands at its end.",
                          letter, brief_time(alignment.turned[side], unit), alignment.activity);
    if (alignment.delayed[side] > Ticks())
      note += fmt::format(" {} is moved by {}.", letter, signed_time(alignment.delayed[side], unit));
  }
  return note.empty() ? "" : fmt::format(" In both {} begins at the same time.{}", alignment.activity, note);
}

}  // namespace dovetail::report
