#include "timeline/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <numeric>
#include <utility>

namespace dovetail::timeline {
namespace {

constexpr double per_unit = 1e6;

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
  return counter.unit.empty() ? count / per_unit : count;
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

namespace {

constexpr std::string_view host_link = "host link";

/// Limit on device numbers, because names in traces are arbitrary.
constexpr int max_devices = 1'000'000;

/// Takes a number from the front of `text`.
std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || number < 0 || number >= max_devices) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

}  // namespace

std::string device_ranges(const std::vector<int>& devices) {
  std::vector<std::string> texts;
  for (std::size_t begin = 0; begin < devices.size();) {
    std::size_t end = begin + 1;
    while (end < devices.size() && devices[end] == devices[end - 1] + 1) ++end;
    texts.push_back(end - begin == 1 ? std::to_string(devices[begin])
                                     : fmt::format("{}-{}", devices[begin], devices[end - 1]));
    begin = end;
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string device_lane_name(const std::vector<int>& devices) {
  return fmt::format("{} {}", devices.size() == 1 ? "device" : "devices", device_ranges(devices));
}

std::optional<std::vector<int>> devices_of(std::string_view name) {
  if (!take(name, "devices ") && !take(name, "device ")) return std::nullopt;
  std::vector<int> devices;
  do {
    const std::optional<int> first = take_number(name);
    const std::optional<int> last = first && take(name, "-") ? take_number(name) : first;
    if (!first || !last || *last < *first || (!devices.empty() && *first <= devices.back())) return std::nullopt;
    for (int device = *first; device <= *last; ++device) devices.push_back(device);
  } while (take(name, ","));
  return name.empty() ? std::optional(std::move(devices)) : std::nullopt;
}

std::string host_link_lane_name(const std::vector<int>& devices) {
  return fmt::format("{}{} {}", host_link, devices.size() == 1 ? "" : "s", device_ranges(devices));
}

bool is_host_link_lane(std::string_view name) { return name.starts_with(host_link); }

namespace {

using base::Ticks;
using Bars = std::span<const Bar>;

bool is_short(const Bar& bar, Ticks shortest) { return bar.end - bar.begin < shortest; }

/// Returns the end of the run of bars that begins at `first` and is no longer than `shortest` in total. A bar that is
/// not short is a run by itself.
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
  struct Total {
    Ticks time;
    Ticks launch;
  };
  std::map<std::pair<BarKind, std::int32_t>, Total> totals;
  for (std::size_t index = first; index < end; ++index) {
    Total& total = totals[{bars[index].bar_kind, bars[index].track}];
    total.time += bars[index].end - bars[index].begin;
    total.launch += bars[index].launch;
  }
  const auto most = std::max_element(totals.begin(), totals.end(),
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

/// Returns the maximum of each stretch, from its beginning on, then its last value if no step follows immediately.
Steps highest(const Steps& steps, Ticks shortest) {
  Steps result;
  for (std::size_t first = 0, next = 0; first < steps.size(); first = next) {
    base::Memory most = steps[first].second;
    while (next < steps.size() && (next == first || steps[next].first - steps[first].first < shortest))
      most = std::max(most, steps[next++].second);
    result.emplace_back(steps[first].first, most);
    const Ticks after = steps[first].first + shortest;
    const bool continues = next < steps.size() && steps[next].first == after;
    if (steps[next - 1].second != most && !continues)
      result.emplace_back(std::max(after, steps[next - 1].first), steps[next - 1].second);
  }
  return result;
}

}  // namespace

Downsampled downsampled(Timeline timeline, std::size_t max_bars) {
  const auto count = [&](Ticks shortest) {
    std::size_t bars = 0;
    for (std::size_t lane = 0; lane < timeline.lanes.size(); ++lane)
      bars += count_runs(bars_of(timeline, lane), shortest);
    return bars;
  };
  if (timeline.bars.size() <= max_bars) return {std::move(timeline), {}};
  constexpr std::int64_t finest = 1'000'000;  // stretches per timeline
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
