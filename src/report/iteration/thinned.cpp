#include "report/iteration/thinned.h"

#include <algorithm>
#include <map>
#include <utility>

namespace dovetail::report {
namespace {

using base::Ticks;
using simulate::Span;

bool is_short(const Span& span, Ticks shortest) { return span.end - span.begin < shortest; }

/// The end of the run of short spans that begins at `first`, no longer than `shortest` together; the one behind it where that is not short.
std::size_t run_end(const std::vector<Span>& spans, std::size_t first, Ticks shortest) {
  std::size_t end = first + 1;
  if (!is_short(spans[first], shortest)) return end;
  while (end < spans.size() && spans[end].end - spans[first].begin <= shortest) ++end;
  return end;
}

std::size_t count_runs(const std::vector<Span>& spans, Ticks shortest) {
  std::size_t count = 0;
  for (std::size_t first = 0; first < spans.size(); first = run_end(spans, first, shortest)) ++count;
  return count;
}

Span joined(const std::vector<Span>& spans, std::size_t first, std::size_t end) {
  if (end == first + 1) return spans[first];
  struct Part {
    Ticks time;
    Ticks launch;
  };
  std::map<std::pair<simulate::Activity, std::int32_t>, Part> parts;
  for (std::size_t index = first; index < end; ++index) {
    Part& part = parts[{spans[index].activity, spans[index].task}];
    part.time += spans[index].end - spans[index].begin;
    part.launch += spans[index].launch;
  }
  const auto most =
      std::max_element(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second.time < b.second.time; });
  return {spans[first].begin, spans[end - 1].end, most->first.first, most->first.second, 0, most->second.launch};
}

std::vector<Span> joined(const std::vector<Span>& spans, Ticks shortest) {
  std::vector<Span> result;
  for (std::size_t first = 0; first < spans.size();) {
    const std::size_t end = run_end(spans, first, shortest);
    result.push_back(joined(spans, first, end));
    first = end;
  }
  return result;
}

using Steps = std::vector<std::pair<Ticks, std::int64_t>>;

/// The most of each stretch, from its beginning on, then what it ended with where nothing comes at once behind it.
Steps highest(const Steps& steps, Ticks shortest) {
  Steps result;
  for (std::size_t first = 0, next = 0; first < steps.size(); first = next) {
    std::int64_t most = steps[first].second;
    while (next < steps.size() && (next == first || steps[next].first - steps[first].first < shortest))
      most = std::max(most, steps[next++].second);
    result.emplace_back(steps[first].first, most);
    const Ticks behind = steps[first].first + shortest;
    const bool goes_on = next < steps.size() && steps[next].first == behind;
    if (steps[next - 1].second != most && !goes_on) result.emplace_back(std::max(behind, steps[next - 1].first), steps[next - 1].second);
  }
  return result;
}

}  // namespace

ThinnedLanes thinned(const std::vector<PictureRow>& rows, Ticks end, std::size_t most) {
  ThinnedLanes result;
  for (const PictureRow& row : rows) result.lanes.push_back(row.lane);
  const auto count = [&](Ticks shortest) {
    std::size_t spans = 0;
    for (const simulate::Lane& lane : result.lanes) spans += count_runs(lane.spans, shortest);
    return spans;
  };
  if (count(Ticks(0)) <= most) return result;
  constexpr std::int64_t finest = 1'000'000;  // of the trace
  constexpr std::int64_t coarsest = 100;
  std::int64_t parts = finest;
  while (parts > coarsest && count(Ticks(end.count() / parts)) > most) parts /= 2;
  result.shortest = Ticks(std::max<std::int64_t>(1, end.count() / std::max(parts, coarsest)));
  for (simulate::Lane& lane : result.lanes) {
    lane.spans = joined(lane.spans, result.shortest);
    lane.memory = highest(lane.memory, result.shortest);
  }
  return result;
}

}  // namespace dovetail::report
