#include "report/overlay/turn.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "report/overlay/pieces.h"
#include "timeline/timeline.h"

namespace dovetail::report {
namespace {

using base::Ticks;
using timeline::Bar;
using timeline::Counter;
using timeline::Timeline;
using Steps = std::vector<std::pair<Ticks, base::Memory>>;

/// The pieces of the bars from `first` to before `last`, in their new order.
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
  /// From `from` to `to`, `by` later.
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

}  // namespace

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

}  // namespace dovetail::report
