#include "timeline/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace dovetail::timeline {
namespace {

constexpr double millionths = 1e6;

std::size_t first_bar(const Timeline& timeline, std::size_t lane) {
  return std::accumulate(timeline.lanes.begin(), timeline.lanes.begin() + static_cast<std::ptrdiff_t>(lane),
                         std::size_t{0}, [](std::size_t bars, const Lane& before) { return bars + before.bars; });
}

std::string_view track_name(const Timeline& timeline, const Bar& bar) {
  return bar.track < 0 ? std::string_view() : timeline.tracks[static_cast<std::size_t>(bar.track)].name;
}

}  // namespace

std::vector<std::size_t> first_bars(const Timeline& timeline) {
  std::vector<std::size_t> first{0};
  for (const Lane& lane : timeline.lanes) first.push_back(first.back() + lane.bars);
  return first;
}

std::size_t lane_of(const std::vector<std::size_t>& first, std::size_t bar) {
  return static_cast<std::size_t>(std::upper_bound(first.begin(), first.end(), bar) - first.begin()) - 1;
}

std::span<const Bar> bars_of(const Timeline& timeline, std::size_t lane) {
  return std::span(timeline.bars).subspan(first_bar(timeline, lane), timeline.lanes[lane].bars);
}

std::span<Bar> bars_of(Timeline& timeline, std::size_t lane) {
  return std::span(timeline.bars).subspan(first_bar(timeline, lane), timeline.lanes[lane].bars);
}

void add_lane(Timeline& timeline, std::string name, const std::vector<Bar>& bars, bool joined) {
  timeline.lanes.push_back({std::move(name), bars.size(), joined});
  timeline.bars.insert(timeline.bars.end(), bars.begin(), bars.end());
}

std::vector<const Counter*> drawn_counters(const Timeline& timeline) {
  std::vector<const Counter*> drawn(timeline.lanes.size());
  for (const Counter& counter : timeline.counters)
    if (counter.name == timeline.counters.front().name && !drawn[counter.lane]) drawn[counter.lane] = &counter;
  return drawn;
}

std::pair<base::Ticks, base::Memory> peak_of(const Counter& counter) {
  std::pair<base::Ticks, base::Memory> peak;
  for (const auto& step : counter.steps) {
    if (step.second > peak.second) peak = step;
  }
  return peak;
}

double amount_of(const Counter& counter, base::Memory value) {
  const auto count = static_cast<double>(value.count());
  return counter.unit.empty() ? count / millionths : count;
}

TimeByBarKind time_by_bar_kind(std::span<const Bar> bars) {
  TimeByBarKind time;
  for (const Bar& bar : bars) {
    time[index_of(bar.bar_kind)] += bar.end - bar.begin - bar.launch;
    time[index_of(BarKind::launch)] += bar.launch;
  }
  return time;
}

bool is_known_by_name(const Bar& bar) { return bar.bar_kind == BarKind::work || bar.bar_kind == BarKind::idle; }

std::string title_of(const Timeline& timeline, const Bar& bar) {
  if (is_known_by_name(bar) && bar.name >= 0) return timeline.names[static_cast<std::size_t>(bar.name)];
  if (is_idle(bar.bar_kind)) return std::string(name_of(bar.bar_kind));
  if (bar.track >= 0 && timeline.tracks[static_cast<std::size_t>(bar.track)].kind == Track::Kind::pipeline)
    return fmt::format("{}{} {}", letter_of(bar.bar_kind), bar.microbatch, track_name(timeline, bar));
  return describe(bar.bar_kind, track_name(timeline, bar));
}

std::string full_title(const Timeline& timeline, const Bar& bar) {
  return is_idle(bar.bar_kind) && bar.track >= 0 ? describe(bar.bar_kind, track_name(timeline, bar))
                                                 : title_of(timeline, bar);
}

std::string describe(const Timeline& timeline, const Bar& op) {
  return fmt::format("{}{} of {}, stage {}", letter_of(op.bar_kind), op.microbatch, track_name(timeline, op), op.stage);
}

}  // namespace dovetail::timeline
