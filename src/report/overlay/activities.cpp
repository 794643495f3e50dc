#include "report/overlay/activities.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "report/overlay/rotation.h"
#include "report/page/chart_sections.h"
#include "timeline/timeline.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using timeline::Lane;
using timeline::Timeline;

/// Sets the activity's start and length from its bars, which are sorted by start.
void time_activity(TimelineActivity& activity, const Timeline& timeline, const std::vector<std::size_t>& bars,
                   std::optional<Ticks> stretch) {
  const Ticks first = timeline.bars[bars.front()].begin;
  Ticks until = first;
  Ticks pause;
  Ticks resumed = first;
  for (const std::size_t bar : bars) {
    if (timeline.bars[bar].begin - until > pause) {
      pause = timeline.bars[bar].begin - until;
      resumed = timeline.bars[bar].begin;
    }
    until = std::max(until, timeline.bars[bar].end);
  }
  activity.begin = first;
  activity.length = until - first;
  if (!stretch) return;
  const Ticks around = *stretch - until + first;
  if (around >= pause) resumed = first;
  activity.length = *stretch - std::max(pause, around);
  activity.begin = activity.length == *stretch ? std::nullopt : std::optional(resumed);
}

/// [bar] whether the bar is on a row of links to host memory, where transfers overlap with other bars of the activity.
std::vector<char> bars_on_host_links(const Timeline& timeline) {
  std::vector<char> on_links;
  for (const Lane& lane : timeline.lanes)
    on_links.insert(on_links.end(), lane.bars, timeline::is_host_link_lane(lane.name) ? 1 : 0);
  return on_links;
}

using base::Ticks;
using timeline::Beginning;
using timeline::Timeline;

/// Returns the activity with which both timelines can begin, or null. An activity with which both already begin comes
/// first. Otherwise returns the earliest common one if `in_time`, or else the first in the order of `activities`.
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

std::string_view activity_name(std::string_view title) {
  constexpr std::string_view word = " of ";
  const std::size_t at = title.rfind(word);
  return at == std::string_view::npos ? title : title.substr(at + word.size());
}

TimelineActivities activities_of(const Timeline& timeline) {
  TimelineActivities activities;
  if (timeline.beginning == timeline::Beginning::repeats) activities.cycle = cycle_end(timeline);
  std::vector<std::size_t> order(timeline.bars.size());
  std::iota(order.begin(), order.end(), 0);
  const std::vector<char> on_links = bars_on_host_links(timeline);
  std::erase_if(order, [&](std::size_t bar) {
    return is_idle_bar(timeline, bar) || on_links[bar] != 0 ||
           (activities.cycle && timeline.bars[bar].begin >= *activities.cycle && *activities.cycle < timeline.end);
  });
  const std::vector<std::int32_t> category = legend_of(timeline).of;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return category[a] < category[b]; });
  activities.of.assign(timeline.bars.size(), -1);
  std::vector<std::vector<std::size_t>> bars;  // [activity]
  for (const std::size_t bar : order) {
    const std::string title = title_of(timeline, timeline.bars[bar]);
    const auto [place, added] =
        activities.number.try_emplace(std::string(activity_name(title)), activities.activities.size());
    if (added) {
      activities.activities.push_back({place->first, std::nullopt, {}});
      bars.emplace_back();
    }
    activities.of[bar] = static_cast<std::int32_t>(place->second);
    bars[place->second].push_back(bar);
  }
  for (std::size_t activity = 0; activity < bars.size(); ++activity) {
    const auto is_earlier = [&](std::size_t a, std::size_t b) {
      return timeline.bars[a].begin < timeline.bars[b].begin;
    };
    std::stable_sort(bars[activity].begin(), bars[activity].end(), is_earlier);
    time_activity(activities.activities[activity], timeline, bars[activity], activities.cycle);
  }
  return activities;
}

Ticks begin_of(const TimelineActivities& activities, std::size_t bar, Ticks begin) {
  if (!activities.cycle || activities.of[bar] < 0) return begin;
  const std::optional<Ticks> first = activities.activities[static_cast<std::size_t>(activities.of[bar])].begin;
  return first && begin < *first ? begin + *activities.cycle : begin;
}

const TimelineActivity* find_activity(const TimelineActivities& activities, std::string_view name) {
  const auto found = activities.number.find(name);
  return found == activities.number.end() ? nullptr : &activities.activities[found->second];
}

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
    alignment.rotations[side] = begin[side];
    begin[side] = Ticks();
  }
  for (std::size_t side = 0; side < 2; ++side)
    alignment.delayed[side] = std::max(Ticks(), begin[1 - side] - begin[side]);
  return alignment;
}

std::string alignment_note(const Alignment& alignment, const Timeline& a, const Timeline& b) {
  if (a.beginning == Beginning::fixed && b.beginning == Beginning::fixed) return "";
  if (alignment.activity.empty()) return " The timelines share no activity to align at: each keeps its own times.";
  const base::TimeUnit unit = a.time_unit;
  std::string note;
  for (std::size_t side = 0; side < 2; ++side) {
    const char letter = side == 0 ? 'A' : 'B';
    if (alignment.rotations[side] > Ticks())
      note += fmt::format(" {} is rotated by {}: its iterations repeat, so the part before {} is moved to the end.",
                          letter, short_time(alignment.rotations[side], unit), alignment.activity);
    if (alignment.delayed[side] > Ticks())
      note += fmt::format(" {} is delayed by {}.", letter, short_time(alignment.delayed[side], unit));
  }
  return note.empty() ? "" : fmt::format(" Both are aligned at the start of {}.{}", alignment.activity, note);
}

}  // namespace dovetail::report
