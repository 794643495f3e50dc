#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>

#include "report/overlay/overlay.h"
#include "report/overlay/rotation.h"
#include "report/page/chart_sections.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using base::TimeUnit;
using timeline::Bar;
using timeline::Timeline;

constexpr std::size_t max_listed = 50;

Ticks length_of(const Bar& bar) { return bar.end - bar.begin; }

/// Work on a lane: number of bars, busy time, and last end.
struct LaneUse {
  std::size_t bars = 0;
  Ticks busy;
  Ticks end;
};

LaneUse use_of(const Timeline& timeline, std::size_t lane, const std::vector<std::size_t>& first) {
  LaneUse use;
  for (std::size_t bar = first[lane]; bar < first[lane + 1]; ++bar) {
    if (is_idle_bar(timeline, bar)) continue;
    ++use.bars;
    use.busy += length_of(timeline.bars[bar]);
    use.end = std::max(use.end, timeline.bars[bar].end);
  }
  return use;
}

bool has_named_activities(const Timeline& timeline, const TimelineActivities& activities) {
  for (std::size_t bar = 0; bar < timeline.bars.size(); ++bar)
    if (activities.of[bar] >= 0 && activities.activities[static_cast<std::size_t>(activities.of[bar])].name !=
                                       title_of(timeline, timeline.bars[bar]))
      return true;
  return false;
}

std::vector<std::string> activity_row(const Overlay& overlay, const std::string& name) {
  const TimeUnit unit = overlay.a.timeline.time_unit;
  const TimelineActivity* activities[2] = {find_activity(overlay.activities[0], name),
                                           find_activity(overlay.activities[1], name)};
  std::vector<std::string> begins;
  std::vector<std::string> takes;
  for (std::size_t side = 0; side < 2; ++side) {
    const TimelineActivity* activity = activities[side];
    begins.push_back(!activity         ? ""
                     : activity->begin ? short_time(*activity->begin + overlay.delayed[side], unit)
                                       : "runs throughout");
    takes.push_back(activity ? short_time(activity->length, unit) : "");
  }
  const bool both = activities[0] && activities[1];
  const bool both_begin = both && activities[0]->begin && activities[1]->begin;
  begins.push_back(
      both_begin
          ? signed_time(*activities[1]->begin + overlay.delayed[1] - *activities[0]->begin - overlay.delayed[0], unit)
          : std::string());
  takes.push_back(both ? change_text(activities[0]->length, activities[1]->length, unit) : "");
  std::vector<std::string> row{name};
  row.insert(row.end(), begins.begin(), begins.end());
  row.insert(row.end(), takes.begin(), takes.end());
  return row;
}

std::string bars_note(std::size_t pairs, std::size_t differ) {
  if (pairs == 0) return "No bars match: no row has a bar with the same name in both timelines.";
  if (differ == 0) return "All matched bars are equal.";
  return (differ > max_listed ? fmt::format("The {} largest of {} differences", max_listed, differ)
                              : std::string("Largest difference first")) +
         ". Select a row to see its bar.";
}

}  // namespace

namespace {

/// Returns the start of a bar of A or B, counted from the start of its activity.
Ticks begin_on(const Overlay& overlay, std::size_t side, std::size_t bar) {
  const Timeline& timeline = side == 0 ? overlay.a.timeline : overlay.b.timeline;
  return begin_of(overlay.activities[side], bar, timeline.bars[bar].begin - overlay.delayed[side]) +
         overlay.delayed[side];
}

}  // namespace

Ticks begin_change(const Overlay& overlay, const BarPair& pair) {
  return begin_on(overlay, 1, pair.b) - begin_on(overlay, 0, pair.a);
}

Ticks distance(const Overlay& overlay, const BarPair& pair) {
  const auto absolute = [](Ticks time) { return Ticks(std::abs(time.count())); };
  const Ticks longer = length_of(overlay.b.timeline.bars[pair.b]) - length_of(overlay.a.timeline.bars[pair.a]);
  return std::max(absolute(begin_change(overlay, pair)), absolute(longer));
}

Table activity_differences(const Overlay& overlay) {
  Table table;
  table.title = "Differences by activity";
  table.note = fmt::format(
      "A is {}, B is {}. An activity lasts from the start of its first bar on any row to the end of its last bar.",
      overlay.a.name, overlay.b.name);
  table.columns = {
      {"activity", Align::left}, {"start A"}, {"start B"}, {"change"}, {"duration A"}, {"duration B"}, {"change"}};
  const std::vector<TimelineActivity>& of_a = overlay.activities[0].activities;
  const auto is_common = [&](const TimelineActivity& activity) {
    return find_activity(overlay.activities[1], activity.name) != nullptr;
  };
  if (std::none_of(of_a.begin(), of_a.end(), is_common)) return table;
  if (!has_named_activities(overlay.a.timeline, overlay.activities[0]) &&
      !has_named_activities(overlay.b.timeline, overlay.activities[1]))
    return table;
  for (const TimelineActivity& activity : of_a) table.rows.push_back(activity_row(overlay, activity.name));
  for (const TimelineActivity& activity : overlay.activities[1].activities)
    if (!find_activity(overlay.activities[0], activity.name))
      table.rows.push_back(activity_row(overlay, activity.name));
  if (table.rows.size() > max_listed) {
    table.note += fmt::format(" The first {} of {} activities are listed.", max_listed, table.rows.size());
    table.rows.resize(max_listed);
  }
  return table;
}

Table bar_differences(const Overlay& overlay, const std::vector<std::int32_t>& number_of_a) {
  const Timeline& a = overlay.a.timeline;
  const Timeline& b = overlay.b.timeline;
  std::vector<BarPair> pairs = overlay.bars;
  std::erase_if(pairs, [&](const BarPair& pair) { return distance(overlay, pair) == Ticks(); });
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](const BarPair& x, const BarPair& y) { return distance(overlay, x) > distance(overlay, y); });
  Table table;
  table.title = "Differences by bar";
  table.note = bars_note(overlay.bars.size(), pairs.size());
  table.columns = {{"bar", Align::left}, {"row", Align::left}, {"start A"},    {"start B"},
                   {"change"},           {"duration A"},       {"duration B"}, {"change"}};
  pairs.resize(std::min(pairs.size(), max_listed));
  const std::vector<std::size_t> first = first_bars(a);
  for (const BarPair& pair : pairs) {
    const Bar& one = a.bars[pair.a];
    const Bar& other = b.bars[pair.b];
    const std::size_t lane = timeline::lane_of(first, pair.a);
    table.rows.push_back(
        {title_of(a, a.bars[pair.a]), a.lanes[lane].name, short_time(begin_on(overlay, 0, pair.a), a.time_unit),
         short_time(begin_on(overlay, 1, pair.b), a.time_unit), signed_time(begin_change(overlay, pair), a.time_unit),
         short_time(length_of(one), a.time_unit), short_time(length_of(other), a.time_unit),
         signed_time(length_of(other) - length_of(one), a.time_unit)});
    table.bars.push_back(number_of_a[pair.a]);
  }
  return table;
}

Table lane_differences(const Overlay& overlay) {
  const Timeline& a = overlay.a.timeline;
  const Timeline& b = overlay.b.timeline;
  const TimeUnit unit = a.time_unit;
  Table table;
  table.title = "Differences by row";
  table.note =
      overlay.lanes.empty()
          ? "No rows match: no row of A has the name of a row of B."
          : fmt::format("A is {}, B is {}. Busy time includes waits for kernel launches, but no other idle time.",
                        overlay.a.name, overlay.b.name);
  table.columns = {{"row", Align::left}, {"busy A"}, {"busy B"},  {"change"},    {"last end A"},
                   {"last end B"},       {"change"}, {"matched"}, {"only in A"}, {"only in B"}};
  const std::vector<std::size_t> first_a = first_bars(a);
  const std::vector<std::size_t> first_b = first_bars(b);
  for (const LanePair& lane : overlay.lanes) {
    const LaneUse use_a = use_of(a, lane.a, first_a);
    const LaneUse use_b = use_of(b, lane.b, first_b);
    const auto is_here = [&](const BarPair& pair) { return pair.a >= first_a[lane.a] && pair.a < first_a[lane.a + 1]; };
    const auto both = static_cast<std::size_t>(std::count_if(overlay.bars.begin(), overlay.bars.end(), is_here));
    table.rows.push_back({a.lanes[lane.a].name, short_time(use_a.busy, unit), short_time(use_b.busy, unit),
                          change_text(use_a.busy, use_b.busy, unit), short_time(use_a.end, unit),
                          short_time(use_b.end, unit), change_text(use_a.end, use_b.end, unit), std::to_string(both),
                          std::to_string(use_a.bars - both), std::to_string(use_b.bars - both)});
  }
  return table;
}

}  // namespace dovetail::report
