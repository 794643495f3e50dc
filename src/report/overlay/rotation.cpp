#include "report/overlay/rotation.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "timeline/timeline.h"

namespace dovetail::report {
namespace {

using timeline::Arrow;
using timeline::Bar;
using timeline::Timeline;

Bar bar_of(const Timeline& timeline, const BarSegment& segment) {
  Bar bar = timeline.bars[segment.bar];
  const base::Ticks second = segment.second ? timeline.bars[*segment.second].launch : base::Ticks();
  bar.launch = std::min(std::max(bar.launch, second), segment.end - segment.begin);
  bar.begin = segment.begin;
  bar.end = segment.end;
  return bar;
}

using base::Ticks;
using timeline::Bar;
using timeline::Counter;
using timeline::Timeline;
using Steps = std::vector<std::pair<Ticks, base::Memory>>;

/// Rotates bars [first, last) of one row. Returns their segments in the new order.
std::vector<BarSegment> rotated_segments(const Timeline& timeline, std::size_t first, std::size_t last, Ticks begin,
                                         Ticks cycle) {
  std::vector<BarSegment> segments;
  std::vector<BarSegment> before;
  std::vector<BarSegment> following;
  for (std::size_t number = first; number < last; ++number) {
    const Bar& bar = timeline.bars[number];
    if (bar.begin >= cycle) {
      following.push_back({number, bar.begin, bar.end});
      continue;
    }
    if (bar.begin < begin)
      before.push_back({number, bar.begin + cycle - begin, std::min(bar.end, begin) + cycle - begin});
    if (bar.begin >= begin || bar.end > begin)
      segments.push_back({number, std::max(bar.begin, begin) - begin, bar.end - begin});
  }
  const bool meet = !segments.empty() && !before.empty() && segments.back().end == before.front().begin;
  if (meet && begin > Ticks() && is_same_work(timeline, segments.back().bar, before.front().bar)) {
    segments.back().end = before.front().end;
    segments.back().second = before.front().bar;
    before.erase(before.begin());
  }
  segments.insert(segments.end(), before.begin(), before.end());
  segments.insert(segments.end(), following.begin(), following.end());
  return segments;
}

Steps rotated_steps(const Steps& steps, Ticks begin, Ticks cycle) {
  Steps turned;
  const auto add = [&](Ticks time, base::Memory value) {
    if (turned.empty() || turned.back().second != value) turned.emplace_back(time, value);
  };
  /// Copies the steps of [from, to), shifted by `by`.
  const auto add_part = [&](Ticks from, std::optional<Ticks> to, Ticks by) {
    const auto after = std::upper_bound(steps.begin(), steps.end(), from,
                                        [](Ticks time, const auto& step) { return time < step.first; });
    if (after != steps.begin()) add(from + by, std::prev(after)->second);
    for (auto step = after; step != steps.end() && (!to || step->first < *to); ++step)
      add(step->first + by, step->second);
  };
  add_part(begin, cycle, Ticks() - begin);
  if (begin > Ticks()) add_part(Ticks(), begin, cycle - begin);
  add_part(cycle, std::nullopt, Ticks());
  return turned;
}

using timeline::Counter;
using timeline::Timeline;

/// A row to build: the row that it comes from, and its devices.
struct SplitRow {
  std::size_t lane = 0;
  std::vector<int> devices;  ///< empty: keep the whole row
};

std::vector<SplitRow> split_rows(const Timeline& timeline, const Timeline& other) {
  std::map<int, std::size_t> lane_of;  // row of `other` plus one; 0 for devices that `other` lacks
  for (std::size_t lane = 0; lane < other.lanes.size(); ++lane) {
    const auto devices = timeline::devices_of(other.lanes[lane].name);
    for (const int device : devices.value_or(std::vector<int>())) lane_of[device] = lane + 1;
  }
  std::vector<SplitRow> rows;
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    std::map<std::size_t, std::vector<int>> of_lane;
    const auto devices = timeline::devices_of(timeline.lanes[lane].name);
    for (const int device : devices.value_or(std::vector<int>())) of_lane[lane_of[device]].push_back(device);
    if (of_lane.empty()) rows.push_back({lane, {}});
    for (auto& [number, together] : of_lane) rows.push_back({lane, std::move(together)});
  }
  if (std::none_of(rows.begin(), rows.end(), [](const SplitRow& row) { return row.devices.empty(); }))
    std::stable_sort(rows.begin(), rows.end(),
                     [](const SplitRow& a, const SplitRow& b) { return a.devices.front() < b.devices.front(); });
  return rows;
}

}  // namespace

bool is_idle_bar(const Timeline& timeline, std::size_t bar) { return is_idle(timeline.bars[bar].bar_kind); }

Timeline rebuild(const Timeline& timeline, const std::vector<SegmentLane>& lanes) {
  Timeline made = timeline;
  made.lanes.clear();
  made.bars.clear();
  made.counters.clear();
  std::vector<std::int32_t> number(timeline.bars.size(), -1);  // [bar of timeline] index of its first segment
  for (const SegmentLane& lane : lanes) {
    made.lanes.push_back(lane.lane);
    made.lanes.back().bars = lane.segments.size();
    for (const BarSegment& segment : lane.segments) {
      for (const std::optional<std::size_t>& of : {std::optional(segment.bar), segment.second})
        if (of && number[*of] < 0) number[*of] = static_cast<std::int32_t>(made.bars.size());
      made.bars.push_back(bar_of(timeline, segment));
    }
  }
  for (Bar& bar : made.bars) bar.awaits = bar.awaits < 0 ? -1 : number[static_cast<std::size_t>(bar.awaits)];
  for (Arrow& arrow : made.arrows)
    arrow = {number[static_cast<std::size_t>(arrow.from)], number[static_cast<std::size_t>(arrow.to)]};
  return made;
}

Ticks cycle_end(const Timeline& timeline) {
  const std::vector<std::size_t> first = first_bars(timeline);
  std::optional<Ticks> end;
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane) {
    if (first[lane] == first[lane + 1] || timeline::is_host_link_lane(timeline.lanes[lane].name)) continue;
    const std::size_t last = first[lane + 1] - 1;
    const Ticks begin = timeline.bars[last].begin;
    const bool closes = timeline.bars[last].end == timeline.end &&
                        title_of(timeline, timeline.bars[last]) == name_of(timeline::BarKind::hand_over);
    if (!closes || begin == Ticks() || (end && *end != begin)) return timeline.end;
    end = begin;
  }
  return end.value_or(timeline.end);
}

Timeline rotated(const Timeline& timeline, Ticks begin) {
  const Ticks cycle = cycle_end(timeline);
  const std::vector<std::size_t> first = first_bars(timeline);
  std::vector<SegmentLane> lanes;
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane)
    lanes.push_back({timeline.lanes[lane], rotated_segments(timeline, first[lane], first[lane + 1], begin, cycle)});
  Timeline result = rebuild(timeline, lanes);
  for (const Counter& counter : timeline.counters)
    result.counters.emplace_back(counter).steps = rotated_steps(counter.steps, begin, cycle);
  return result;
}

bool is_same_work(const Timeline& timeline, std::size_t bar, std::size_t other) {
  const auto identity = [&](std::size_t number) {
    const Bar& of = timeline.bars[number];
    return std::tuple(of.bar_kind, of.track, of.microbatch, of.stage, of.sequences, of.name, of.category);
  };
  return identity(bar) == identity(other);
}

Timeline shifted(Timeline timeline, Ticks by) {
  timeline.end += by;
  for (Bar& bar : timeline.bars) {
    bar.begin += by;
    bar.end += by;
  }
  for (Counter& counter : timeline.counters)
    for (auto& step : counter.steps) step.first += by;
  return timeline;
}

Timeline divide_rows(const Timeline& timeline, const Timeline& other) {
  const std::vector<SplitRow> rows = split_rows(timeline, other);
  const std::vector<std::size_t> first = first_bars(timeline);
  std::vector<SegmentLane> lanes;
  std::vector<Counter> counters;
  for (const SplitRow& row : rows) {
    SegmentLane lane{timeline.lanes[row.lane], {}};
    if (!row.devices.empty()) lane.lane.name = timeline::device_lane_name(row.devices);
    for (std::size_t bar = first[row.lane]; bar < first[row.lane + 1]; ++bar)
      lane.segments.push_back({bar, timeline.bars[bar].begin, timeline.bars[bar].end});
    for (const Counter& counter : timeline.counters)
      if (counter.lane == row.lane) counters.emplace_back(counter).lane = lanes.size();
    lanes.push_back(std::move(lane));
  }
  Timeline divided = rebuild(timeline, lanes);
  divided.counters = std::move(counters);
  return divided;
}

}  // namespace dovetail::report
