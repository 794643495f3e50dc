#include "report/overlay/overlay.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "report/overlay/activities.h"
#include "report/overlay/pairs.h"
#include "report/overlay/rotation.h"
#include "report/page/chart_sections.h"
#include "timeline/timeline.h"

namespace dovetail::report {
namespace {

using timeline::Bar;
using timeline::BarKind;
using timeline::Timeline;

/// Returns the cause with the longest name that is a prefix of `title`.
std::optional<BarKind> cause_in(std::string_view title, const std::set<BarKind>& causes) {
  std::optional<BarKind> best;
  for (const BarKind cause : causes) {
    const std::string_view name = name_of(cause);
    const bool begins = title == name || (title.starts_with(name) && title[name.size()] == ' ');
    if (begins && (!best || name.size() > name_of(*best).size())) best = cause;
  }
  return best;
}

/// Sets the kind of bars known only by name. A bar gets the kind of the work in `known` with the same title. Idle time
/// gets the cause that its name starts with: "dependency" for "dependency on reward_infer". REQUIRES: `named` has no
/// tracks.
Timeline with_kinds_of(Timeline named, const Timeline& known) {
  std::map<std::string, const Bar*> work;  // by title
  std::set<BarKind> causes;
  for (const Bar& bar : known.bars) {
    if (is_known_by_name(bar)) continue;
    if (is_idle(bar.bar_kind))
      causes.insert(bar.bar_kind);
    else
      work.try_emplace(title_of(known, bar), &bar);
  }
  named.tracks = known.tracks;
  for (Bar& bar : named.bars) {
    const std::string title = title_of(named, bar);
    if (bar.bar_kind == BarKind::idle) {
      bar.bar_kind = cause_in(title, causes).value_or(BarKind::idle);
    } else if (const auto found = work.find(title); bar.bar_kind == BarKind::work && found != work.end()) {
      // Copy only the fields that the title determines.
      bar.bar_kind = found->second->bar_kind;
      bar.track = found->second->track;
      if (bar.track >= 0 && known.tracks[static_cast<std::size_t>(bar.track)].kind == timeline::Track::Kind::pipeline)
        bar.microbatch = found->second->microbatch;
    }
  }
  return named;
}

using base::Ticks;
using base::TimeUnit;
using timeline::Timeline;

constexpr std::int64_t ticks_of_a_tick = 1000;

/// Converts a timeline in ticks to microseconds, with 1 tick = 1 microsecond.
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

/// Converts both timelines to one unit. Returns whether exactly one of them was in ticks.
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

/// Applies the bar kinds known for one timeline to the other.
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
  return {{"duration of A", short_time(ends[0], a.time_unit), overlay.a.name},
          {"duration of B", short_time(ends[1], a.time_unit), overlay.b.name},
          {"B vs. A", change_text(ends[0], ends[1], a.time_unit), ""},
          {"matched bars", std::to_string(overlay.bars.size()),
           overlay.bars.empty() ? "" : fmt::format("largest difference {}", short_time(moved, a.time_unit))}};
}

std::string note_of(const Overlay& overlay, bool mixed, const std::string& alignment) {
  std::string note = fmt::format("In each pair of rows, A ({}) is on top and B ({}) below.{}", overlay.a.name,
                                 overlay.b.name, alignment);
  if (mixed) note += " 1 tick is shown as 1 microsecond.";
  const auto is_other = [&](const LanePair& pair) {
    return overlay.a.timeline.lanes[pair.a].name != overlay.b.timeline.lanes[pair.b].name;
  };
  if (std::any_of(overlay.lanes.begin(), overlay.lanes.end(), is_other))
    note += " No row name is in both timelines, so rows are matched by position.";
  const std::string terms = term_sentences(overlay.a.timeline);
  return note + (terms.empty() ? term_sentences(overlay.b.timeline) : terms);
}

}  // namespace

Page overlay_page(NamedTimeline a, NamedTimeline b, std::string title) {
  const bool mixed = unify_units(a.timeline, b.timeline);
  divide_both(a.timeline, b.timeline);
  unify_kinds(a.timeline, b.timeline);
  const Alignment alignment = align(a.timeline, b.timeline, activities_of_both(a.timeline, b.timeline));
  if (alignment.rotations[0] > Ticks()) a.timeline = rotated(a.timeline, alignment.rotations[0]);
  if (alignment.rotations[1] > Ticks()) b.timeline = rotated(b.timeline, alignment.rotations[1]);
  Overlay overlay{
      a, b, activities_of_both(a.timeline, b.timeline), alignment.delayed, pair_lanes(a.timeline, b.timeline), {}};
  overlay.bars = pair_bars(a.timeline, b.timeline, overlay.activities, overlay.lanes);
  a.timeline = shifted(std::move(a.timeline), alignment.delayed[0]);
  b.timeline = shifted(std::move(b.timeline), alignment.delayed[1]);
  JoinedTimelines joined = join_timelines(a.timeline, b.timeline, overlay.lanes, overlay.bars);
  Page page;
  page.title = std::move(title);
  page.subtitle = fmt::format("Comparison of two timelines: A ({}) and B ({}).", a.name, b.name);
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
