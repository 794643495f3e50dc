#include "report/overlay/overlay.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "report/overlay/alignment.h"
#include "report/overlay/joined.h"
#include "report/overlay/kinds.h"
#include "report/overlay/rows.h"
#include "report/overlay/tables.h"
#include "report/overlay/turn.h"
#include "report/overlay/words.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using base::TimeUnit;
using timeline::Timeline;

constexpr std::int64_t ticks_of_a_tick = 1000;

/// All times of a timeline in ticks as ns, a tick for a microsecond.
void to_nanoseconds(Timeline& timeline) {
  const auto convert = [](Ticks& time) { time = Ticks(time.count() * ticks_of_a_tick); };
  convert(timeline.end);
  for (timeline::Bar& bar : timeline.bars) {
    convert(bar.begin);
    convert(bar.end);
    convert(bar.launch);
  }
  for (timeline::Counter& counter : timeline.counters) {
    for (auto& step : counter.steps) convert(step.first);
  }
  timeline.time_unit = TimeUnit::us;
}

/// Gives both one unit; whether one was in ticks and the other was not.
bool unify_units(Timeline& a, Timeline& b) {
  const bool a_in_ticks = a.time_unit == TimeUnit::tick;
  const bool mixed = a_in_ticks != (b.time_unit == TimeUnit::tick);
  if (mixed) to_nanoseconds(a_in_ticks ? a : b);
  if (a.time_unit == TimeUnit::ns || b.time_unit == TimeUnit::ns) a.time_unit = b.time_unit = TimeUnit::ns;
  return mixed;
}

bool has_names_only(const Timeline& timeline) {
  return std::any_of(timeline.bars.begin(), timeline.bars.end(), timeline::is_known_by_name);
}

/// What is known better on one side, on both.
void unify_kinds(Timeline& a, Timeline& b) {
  if (has_names_only(b))
    b = with_kinds_of(std::move(b), a);
  else if (has_names_only(a))
    a = with_kinds_of(std::move(a), b);
}

void divide_both(Timeline& a, Timeline& b) {
  Timeline divided = divide_rows(a, b);
  b = divide_rows(b, a);
  a = std::move(divided);
}

std::array<TimelineActivities, 2> activities_of_both(const Timeline& a, const Timeline& b) {
  return {activities_of(a), activities_of(b)};
}

std::vector<Figure> figures_of(const Overlay& overlay) {
  const Timeline& a = overlay.a.timeline;
  const Timeline& b = overlay.b.timeline;
  const Ticks ends[2] = {a.end - overlay.delayed[0], b.end - overlay.delayed[1]};
  Ticks moved;
  for (const BarPair& pair : overlay.bars) moved = std::max(moved, distance(overlay, pair));
  return {{"A lasts", brief_time(ends[0], a.time_unit), overlay.a.name},
          {"B lasts", brief_time(ends[1], a.time_unit), overlay.b.name},
          {"B against A", change_text(ends[0], ends[1], a.time_unit), ""},
          {"bars in both", std::to_string(overlay.bars.size()),
           overlay.bars.empty() ? "" : fmt::format("the largest difference is {}", brief_time(moved, a.time_unit))}};
}

std::string note_of(const Overlay& overlay, bool mixed, const std::string& alignment) {
  std::string note = fmt::format("Of two rows that stand close together the upper one is A, {}, the lower one B, {}.{}",
                                 overlay.a.name, overlay.b.name, alignment);
  if (mixed) note += " A tick is shown as a microsecond.";
  const auto is_other = [&](const LanePair& pair) {
    return overlay.a.timeline.lanes[pair.a].name != overlay.b.timeline.lanes[pair.b].name;
  };
  if (std::any_of(overlay.lanes.begin(), overlay.lanes.end(), is_other))
    note += " No row of A has the name of one of B: they are put together in their order.";
  return note;
}

}  // namespace

Page overlay_page(NamedTimeline a, NamedTimeline b, std::string title) {
  const bool mixed = unify_units(a.timeline, b.timeline);
  divide_both(a.timeline, b.timeline);
  unify_kinds(a.timeline, b.timeline);
  const Alignment alignment = align(a.timeline, b.timeline, activities_of_both(a.timeline, b.timeline));
  if (alignment.turned[0] > Ticks()) a.timeline = turned(a.timeline, alignment.turned[0]);
  if (alignment.turned[1] > Ticks()) b.timeline = turned(b.timeline, alignment.turned[1]);
  Overlay overlay{
      a, b, activities_of_both(a.timeline, b.timeline), alignment.delayed, pair_lanes(a.timeline, b.timeline), {}};
  overlay.bars = pair_bars(a.timeline, b.timeline, overlay.activities, overlay.lanes);
  a.timeline = delayed(std::move(a.timeline), alignment.delayed[0]);
  b.timeline = delayed(std::move(b.timeline), alignment.delayed[1]);
  JoinedTimelines joined = join_timelines(a.timeline, b.timeline, overlay.lanes, overlay.bars);
  Page page;
  page.title = std::move(title);
  page.subtitle = fmt::format("Two timelines over each other: A, {}, and B, {}.", a.name, b.name);
  page.figures = figures_of(overlay);
  const std::string note = note_of(overlay, mixed, alignment_note(alignment, a.timeline, b.timeline));
  page.sections.emplace_back(Chart{"Timelines", note, std::move(joined.timeline)});
  page.sections.emplace_back(bar_differences(overlay, joined.number_of_a));
  if (Table activities = activity_differences(overlay); !activities.rows.empty())
    page.sections.emplace_back(std::move(activities));
  page.sections.emplace_back(lane_differences(overlay));
  return page;
}

}  // namespace dovetail::report
