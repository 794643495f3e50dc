#include "report/overlay/turn.h"

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

Bar bar_of(const Timeline& timeline, const Piece& piece) {
  Bar bar = timeline.bars[piece.bar];
  const base::Ticks second = piece.second ? timeline.bars[*piece.second].launch : base::Ticks();
  bar.launch = std::min(std::max(bar.launch, second), piece.end - piece.begin);
  bar.begin = piece.begin;
  bar.end = piece.end;
  return bar;
}

using base::Ticks;
using timeline::Bar;
using timeline::Counter;
using timeline::Timeline;
using Steps = std::vector<std::pair<Ticks, base::Memory>>;

/// Rotates bars [first, last) of one row. Returns their pieces in the new order.
std::vector<Piece> turned_pieces(const Timeline& timeline, std::size_t first, std::size_t last, Ticks begin,
                                 Ticks stretch) {
  std::vector<Piece> pieces;
  std::vector<Piece> before;
  std::vector<Piece> following;
  for (std::size_t number = first; number < last; ++number) {
    const Bar& bar = timeline.bars[number];
    if (bar.begin >= stretch) {
      following.push_back({number, bar.begin, bar.end});
      continue;
    }
    if (bar.begin < begin)
      before.push_back({number, bar.begin + stretch - begin, std::min(bar.end, begin) + stretch - begin});
    if (bar.begin >= begin || bar.end > begin)
      pieces.push_back({number, std::max(bar.begin, begin) - begin, bar.end - begin});
  }
  const bool meet = !pieces.empty() && !before.empty() && pieces.back().end == before.front().begin;
  if (meet && begin > Ticks() && is_same_work(timeline, pieces.back().bar, before.front().bar)) {
    pieces.back().end = before.front().end;
    pieces.back().second = before.front().bar;
    before.erase(before.begin());
  }
  pieces.insert(pieces.end(), before.begin(), before.end());
  pieces.insert(pieces.end(), following.begin(), following.end());
  return pieces;
}

Steps turned_steps(const Steps& steps, Ticks begin, Ticks stretch) {
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
  add_part(begin, stretch, Ticks() - begin);
  if (begin > Ticks()) add_part(Ticks(), begin, stretch - begin);
  add_part(stretch, std::nullopt, Ticks());
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

Timeline made_of(const Timeline& timeline, const std::vector<PieceLane>& lanes) {
  Timeline made = timeline;
  made.lanes.clear();
  made.bars.clear();
  made.counters.clear();
  std::vector<std::int32_t> number(timeline.bars.size(), -1);  // [bar of timeline] index of its first piece
  for (const PieceLane& lane : lanes) {
    made.lanes.push_back(lane.lane);
    made.lanes.back().bars = lane.pieces.size();
    for (const Piece& piece : lane.pieces) {
      for (const std::optional<std::size_t>& of : {std::optional(piece.bar), piece.second})
        if (of && number[*of] < 0) number[*of] = static_cast<std::int32_t>(made.bars.size());
      made.bars.push_back(bar_of(timeline, piece));
    }
  }
  for (Bar& bar : made.bars) bar.awaits = bar.awaits < 0 ? -1 : number[static_cast<std::size_t>(bar.awaits)];
  for (Arrow& arrow : made.arrows)
    arrow = {number[static_cast<std::size_t>(arrow.from)], number[static_cast<std::size_t>(arrow.to)]};
  return made;
}

Ticks stretch_end(const Timeline& timeline) {
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

Timeline turned(const Timeline& timeline, Ticks begin) {
  const Ticks stretch = stretch_end(timeline);
  const std::vector<std::size_t> first = first_bars(timeline);
  std::vector<PieceLane> lanes;
  for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane)
    lanes.push_back({timeline.lanes[lane], turned_pieces(timeline, first[lane], first[lane + 1], begin, stretch)});
  Timeline result = made_of(timeline, lanes);
  for (const Counter& counter : timeline.counters)
    result.counters.emplace_back(counter).steps = turned_steps(counter.steps, begin, stretch);
  return result;
}

bool is_same_work(const Timeline& timeline, std::size_t bar, std::size_t other) {
  const auto identity = [&](std::size_t number) {
    const Bar& of = timeline.bars[number];
    return std::tuple(of.bar_kind, of.track, of.microbatch, of.stage, of.sequences, of.name, of.category);
  };
  return identity(bar) == identity(other);
}

Timeline delayed(Timeline timeline, Ticks by) {
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
  std::vector<PieceLane> lanes;
  std::vector<Counter> counters;
  for (const SplitRow& row : rows) {
    PieceLane lane{timeline.lanes[row.lane], {}};
    if (!row.devices.empty()) lane.lane.name = timeline::device_lane_name(row.devices);
    for (std::size_t bar = first[row.lane]; bar < first[row.lane + 1]; ++bar)
      lane.pieces.push_back({bar, timeline.bars[bar].begin, timeline.bars[bar].end});
    for (const Counter& counter : timeline.counters)
      if (counter.lane == row.lane) counters.emplace_back(counter).lane = lanes.size();
    lanes.push_back(std::move(lane));
  }
  Timeline divided = made_of(timeline, lanes);
  divided.counters = std::move(counters);
  return divided;
}

}  // namespace dovetail::report
