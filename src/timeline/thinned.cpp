#include "timeline/thinned.h"

#include <algorithm>
#include <map>
#include <utility>

namespace dovetail::timeline {
namespace {

using base::Ticks;
using Bars = std::span<const Bar>;

bool is_short(const Bar& bar, Ticks shortest) { return bar.end - bar.begin < shortest; }

/// The end of the run of short bars that begins at `first`, no longer than `shortest` together; the one behind it where
/// that is not short.
std::size_t run_end(Bars bars, std::size_t first, Ticks shortest) {
  std::size_t end = first + 1;
  if (!is_short(bars[first], shortest)) return end;
  while (end < bars.size() && bars[end].end - bars[first].begin <= shortest) ++end;
  return end;
}

std::size_t count_runs(Bars bars, Ticks shortest) {
  std::size_t count = 0;
  for (std::size_t first = 0; first < bars.size(); first = run_end(bars, first, shortest)) ++count;
  return count;
}

Bar joined(Bars bars, std::size_t first, std::size_t end) {
  if (end == first + 1) return bars[first];
  struct Part {
    Ticks time;
    Ticks launch;
  };
  std::map<std::pair<BarKind, std::int32_t>, Part> parts;
  for (std::size_t index = first; index < end; ++index) {
    Part& part = parts[{bars[index].bar_kind, bars[index].track}];
    part.time += bars[index].end - bars[index].begin;
    part.launch += bars[index].launch;
  }
  const auto most = std::max_element(parts.begin(), parts.end(),
                                     [](const auto& a, const auto& b) { return a.second.time < b.second.time; });
  Bar bar{bars[first].begin, bars[end - 1].end, most->first.first, most->first.second};
  bar.launch = most->second.launch;
  return bar;
}

std::vector<Bar> joined(Bars bars, Ticks shortest) {
  std::vector<Bar> result;
  for (std::size_t first = 0; first < bars.size();) {
    const std::size_t end = run_end(bars, first, shortest);
    result.push_back(joined(bars, first, end));
    first = end;
  }
  return result;
}

using Steps = std::vector<std::pair<Ticks, base::Memory>>;

/// The most of each stretch, from its beginning on, then what it ended with where nothing comes at once behind it.
Steps highest(const Steps& steps, Ticks shortest) {
  Steps result;
  for (std::size_t first = 0, next = 0; first < steps.size(); first = next) {
    base::Memory most = steps[first].second;
    while (next < steps.size() && (next == first || steps[next].first - steps[first].first < shortest))
      most = std::max(most, steps[next++].second);
    result.emplace_back(steps[first].first, most);
    const Ticks after = steps[first].first + shortest;
    const bool goes_on = next < steps.size() && steps[next].first == after;
    if (steps[next - 1].second != most && !goes_on)
      result.emplace_back(std::max(after, steps[next - 1].first), steps[next - 1].second);
  }
  return result;
}

}  // namespace

Thinned thinned(Timeline timeline, std::size_t max_bars) {
  const auto count = [&](Ticks shortest) {
    std::size_t bars = 0;
    for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane)
      bars += count_runs(bars_of(timeline, lane), shortest);
    return bars;
  };
  if (timeline.bars.size() <= max_bars) return {std::move(timeline), {}};
  constexpr std::int64_t finest = 1'000'000;  // of the timeline
  constexpr std::int64_t coarsest = 100;
  std::int64_t parts = finest;
  while (parts > coarsest && count(Ticks(timeline.end.count() / parts)) > max_bars) parts /= 2;
  const Ticks shortest(std::max<std::int64_t>(1, timeline.end.count() / std::max(parts, coarsest)));
  const std::vector<Bar> all = std::move(timeline.bars);
  std::vector<Lane> lanes = std::move(timeline.lanes);
  timeline.bars.clear();
  timeline.lanes.clear();
  std::size_t first = 0;
  for (Lane& lane : lanes) {
    add_lane(timeline, std::move(lane.name), joined(Bars(all).subspan(first, lane.bars), shortest), lane.joined);
    first += lane.bars;
  }
  for (Counter& counter : timeline.counters) counter.steps = highest(counter.steps, shortest);
  return {std::move(timeline), shortest};
}

}  // namespace dovetail::timeline
